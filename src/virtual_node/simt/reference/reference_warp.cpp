// The slow engine: shuffles, votes, matches and reductions among lanes that have come together. Waiting for them, and
// lanes that name different masks, are the fast engine's.

#include "virtual_node/simt/reference/reference_operands.h"

namespace fb::simt::reference {
namespace {

using ptx::Form;
using ptx::Mod;

// Results of all lanes are computed before the first is written.
struct Results {
  Bits value[kLanes] = {};
  bool truth[kLanes] = {};
};

void shuffle(const Operands& o, const Warp& w, Results& r) {
  const ptx::Instruction& inst = o.inst();
  each_executing(w, [&](uint32_t lane) {
    const auto b = static_cast<int>(o.read(3, lane) & 31);
    const auto c = static_cast<int>(o.read(4, lane) & 31), segment = static_cast<int>(o.read(4, lane) >> 8 & 31);
    const auto own = static_cast<int>(lane);
    const int last = (own & segment) | (c & ~segment), first = own & segment;
    int from = 0;
    bool inside = false;
    if (inst.has(Mod::up)) {
      from = own - b;
      inside = from >= last;
    } else {
      from = inst.has(Mod::down) ? own + b : inst.has(Mod::bfly) ? own ^ b : first | (b & ~segment);
      inside = from <= last;
    }
    // A source outside the set is undefined; the lane keeps its own value then, as where the source is out of range.
    const bool there = inside && from >= 0 && from < 32 && (w.exec >> from & 1) != 0;
    r.value[lane] = o.read(2, there ? static_cast<uint32_t>(from) : lane);
    r.truth[lane] = inside;
  });
}

void vote(const Operands& o, const Warp& w, Results& r) {
  Mask yes = 0;
  const size_t cond = 1;
  each_executing(w, [&](uint32_t lane) { yes |= static_cast<Mask>(o.read(cond, lane) != 0) << lane; });
  const bool all = yes == w.exec, any = yes != 0;
  const bool truth = o.inst().has(Mod::all) ? all : o.inst().has(Mod::any) ? any : all || !any;
  each_executing(w,
                 [&](uint32_t lane) { r.value[lane] = o.inst().form == Form::vote_ballot ? Bits{yes} : Bits{truth}; });
}

void match_any(const Operands& o, const Warp& w, Results& r) {
  each_executing(w, [&](uint32_t lane) {
    each_executing(w, [&](uint32_t other) {
      if (o.read(1, lane) == o.read(1, other)) r.value[lane] |= Bits{1} << other;
    });
  });
}

void match_all(const Operands& o, const Warp& w, Results& r) {
  bool same = true;
  each_executing(w, [&](uint32_t lane) {
    each_executing(w, [&](uint32_t other) { same = same && o.read(2, lane) == o.read(2, other); });
  });
  each_executing(w, [&](uint32_t lane) {
    r.value[lane] = same ? w.exec : 0;
    r.truth[lane] = same;
  });
}

void reduce(const Operands& o, const Warp& w, Results& r) {
  const ptx::Instruction& inst = o.inst();
  I128 total = 0;
  bool empty = true;
  each_executing(w, [&](uint32_t lane) {
    const I128 x = as_integer(o.read(1, lane), inst.type());
    if (empty) {
      total = x;
    } else if (inst.has(Mod::add)) {
      total += x;
    } else if (inst.has(Mod::min)) {
      total = x < total ? x : total;
    } else if (inst.has(Mod::max)) {
      total = x > total ? x : total;
    } else {
      total = inst.has(Mod::and_) ? total & x : inst.has(Mod::or_) ? total | x : total ^ x;
    }
    empty = false;
  });
  each_executing(w, [&](uint32_t lane) { r.value[lane] = static_cast<Bits>(total); });
}

void reduce_float(const Operands& o, const Warp& w, Results& r) {
  const ptx::Instruction& inst = o.inst();
  const uint64_t strip = inst.has(Mod::abs) ? sign_bit(kF32) - 1 : 0xFFFF'FFFF;
  uint64_t total = 0;
  bool empty = true;
  each_executing(w, [&](uint32_t lane) {
    const uint64_t x = static_cast<uint64_t>(o.read(1, lane)) & strip;
    total = min_max_codes(empty ? x : total, x, kF32, inst.has(Mod::max), inst.has(Mod::NaN), false);
    empty = false;
  });
  each_executing(w, [&](uint32_t lane) { r.value[lane] = total; });
}

// The lowest lane is the leader.
void elect(const Operands&, const Warp& w, Results& r) {
  Bits leader = kLanes;
  each_executing(w, [&](uint32_t lane) {
    if (leader == kLanes) leader = lane;
    r.value[lane] = leader;
    r.truth[lane] = lane == leader;
  });
}

using Compute = void (*)(const Operands&, const Warp&, Results&);

struct WarpForm {
  Form form;
  Compute compute;
  size_t mask;       // operand
  size_t predicate;  // operand written beside the first; 0: none
};

constexpr WarpForm kForms[] = {
    {Form::shfl, shuffle, 5, 1},
    {Form::vote, vote, 2, 0},
    {Form::vote_ballot, vote, 2, 0},
    {Form::match_any, match_any, 2, 0},
    {Form::match_all, match_all, 3, 1},
    {Form::redux, reduce, 2, 0},
    {Form::redux_float, reduce_float, 2, 0},
    {Form::elect, elect, 2, 1},
};

const WarpForm* form_of(Form form) {
  for (const WarpForm& f : kForms) {
    if (f.form == form) return &f;
  }
  return nullptr;
}

const Inst* run_warp(Warp& w, const Inst& i) {
  Operands operands(w, i);
  const WarpForm& form = *form_of(operands.inst().form);
  bool complete = true;
  each_executing(w, [&](uint32_t lane) {
    const auto mask = static_cast<Mask>(operands.read(form.mask, lane));
    complete = complete && (mask & w.present() & ~w.exited()) == w.exec;
  });
  if (!complete) return select({operands.inst()})(w, i);
  Results results;
  form.compute(operands, w, results);
  each_executing(w, [&](uint32_t lane) {
    operands.write(0, lane, results.value[lane]);
    if (form.predicate != 0) operands.write(form.predicate, lane, results.truth[lane]);
  });
  return &i + 1;
}

}  // namespace

Exec warp_handler(const Selection& s) { return form_of(s.inst.form) ? run_warp : nullptr; }

}  // namespace fb::simt::reference
