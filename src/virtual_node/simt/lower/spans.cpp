#include "virtual_node/simt/lower/spans.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "common/ptx/matrix_shape.h"
#include "common/ptx/traits.h"
#include "virtual_node/num/device_math.h"
#include "virtual_node/simt/lower/flow.h"

namespace fb::simt {
namespace {

using ptx::Form;
using ptx::Instruction;
using ptx::Space;
using ptx::Unit;

Space space_of(const Instruction& inst) { return inst.spaces.empty() ? Space::generic : inst.spaces[0]; }

bool is_plain_load(const Instruction& inst) {
  const bool reads = inst.form == Form::ld || inst.form == Form::ld_nc || inst.form == Form::ldu ||
                     inst.form == Form::tex || inst.form == Form::tex_level || inst.form == Form::tex_grad ||
                     inst.form == Form::tld4 || inst.form == Form::suld;
  return reads && !ptx::is_strong(ptx::order_of(inst));
}

bool is_plain_store(const Instruction& inst) {
  return (inst.form == Form::st || inst.form == Form::sust) && !ptx::is_strong(ptx::order_of(inst));
}

bool is_shared_matrix(const Instruction& inst) {
  return inst.form == Form::ldmatrix || inst.form == Form::stmatrix || inst.form == Form::stmatrix_b8;
}

// Its latency depends on where the bytes are.
bool has_slot(const Instruction& inst) {
  if (!is_plain_load(inst)) return false;
  const Space s = space_of(inst);
  return s == Space::generic || s == Space::global || s == Space::shared_cluster;
}

bool reads_clock(const Instruction& inst) {
  if (inst.form != Form::mov || inst.operands.size() < 2 || inst.operands[1].kind != ptx::OperandKind::special) {
    return false;
  }
  switch (static_cast<ptx::SpecialReg>(inst.operands[1].index)) {
    case ptx::SpecialReg::clock:
    case ptx::SpecialReg::clock_hi:
    case ptx::SpecialReg::clock64:
    case ptx::SpecialReg::globaltimer:
    case ptx::SpecialReg::globaltimer_lo:
    case ptx::SpecialReg::globaltimer_hi:
      return true;
    default:
      return false;
  }
}

// Everything before it comes before it in time, too.
bool is_ordered(const Instruction& inst) {
  if (reads_clock(inst)) return true;
  if (is_plain_load(inst) || is_plain_store(inst) || is_shared_matrix(inst)) return false;
  const ptx::Traits& t = ptx::traits(inst);
  return !t.computes || t.asynchronous;
}

bool is_jump(const Instruction& inst) { return ptx::traits(inst).jumps || ends_thread(inst); }

// Which memory a load may find a store's bytes in: loads behind a store wait for it only in the same one.
uint32_t memory_class(const Instruction& inst) {
  switch (space_of(inst)) {
    case Space::shared:
    case Space::shared_cluster:
      return 1;
    case Space::local:
    case Space::param:
      return 2;
    default:
      return is_shared_matrix(inst) ? 1 : 0;
  }
}
constexpr uint32_t kMemoryClasses = 3;

// How much of mma.sync's rate for bf16 a type reaches: half of the bits, twice the rate.
double products_rate(const Instruction& inst) {
  switch (inst.type(1)) {
    case ptx::Type::tf32:
      return 0.5;
    case ptx::Type::f64:
      return 1.0 / 16;
    case ptx::Type::e4m3:
    case ptx::Type::e5m2:
    case ptx::Type::u8:
    case ptx::Type::s8:
      return 2;
    case ptx::Type::u4:
    case ptx::Type::s4:
      return 4;
    case ptx::Type::b1:
      return 16;
    default:
      return 1;
  }
}

// Words of each lane that a load or store moves.
uint32_t words_of(const Instruction& inst) {
  if (is_shared_matrix(inst)) return inst.has(ptx::Mod::x4) ? 4 : inst.has(ptx::Mod::x2) ? 2 : 1;
  if (!is_plain_load(inst) && !is_plain_store(inst)) return 1;
  const uint32_t count = inst.has(ptx::Mod::v2) ? 2 : inst.has(ptx::Mod::v4) ? 4 : inst.has(ptx::Mod::v8) ? 8 : 1;
  return std::max(count * ptx::bytes_of(inst.type()) / 4, 1u);
}

struct Cost {
  uint32_t issue = 0;    // picoseconds
  uint32_t latency = 0;  // from the first issue to a dependent instruction
  PartTimes occupied{};
};

void occupy(Cost& c, Part part, uint64_t time) { c.occupied[static_cast<size_t>(part)] += static_cast<uint32_t>(time); }

class Coster {
 public:
  Coster(const ptx::Module& module, const UnitTimes& times) : module_(module), times_(times) {}

  Cost cost(const Instruction& inst) const {
    const ptx::Work work = calls_library(inst) ? ptx::work_of_function(module_.functions[inst.operands[1].index].name)
                                               : ptx::work_of(inst);
    Cost c;
    c.issue = (work.count + work.second_count) * times_.cycle;
    occupy(c, Part::issue, c.issue);
    add(c, work.unit, work.count, work.steps);
    add(c, work.second, work.second_count, work.second_steps);
    if (work.unit == Unit::tensor) add_products(c, inst);
    if (work.unit == Unit::load_store) {
      c.latency = memory_latency(inst);
      // 128 bytes in a cycle.
      c.occupied[static_cast<size_t>(Part::load_store)] *= words_of(inst);
    }
    if (inst.form == Form::redux && inst.has(ptx::Mod::add)) c.latency = times_.reduce_add;
    if (inst.form == Form::bar_warp_sync) c.latency = times_.warp_barrier;
    if (is_jump(inst)) c.latency += times_.branch;
    return c;
  }

  // A function that the machine knows and the module does not define.
  bool calls_library(const Instruction& inst) const {
    return inst.form == Form::call && inst.operands[1].kind == ptx::OperandKind::function &&
           !module_.functions[inst.operands[1].index].defined &&
           num::find_device_function(module_.functions[inst.operands[1].index].name) != nullptr;
  }

 private:
  void add(Cost& c, Unit unit, uint32_t count, uint32_t steps) const {
    const UnitTimes::Entry& e = times_.unit[static_cast<size_t>(unit)];
    c.latency += steps * e.latency;
    // A chain is no shorter than its unit needs for it.
    if (const auto part = part_of(unit)) occupy(c, *part, uint64_t{count} * e.interval);
  }

  void add_products(Cost& c, const Instruction& inst) const {
    const auto shape = ptx::matrix_shape(inst);
    if (!shape) return;
    const double products = static_cast<double>(shape->m) * shape->n * shape->k;
    const double cycles = products / (times_.products_per_cycle * products_rate(inst));
    occupy(c, Part::tensor, static_cast<uint64_t>(std::llround(cycles * times_.cycle)));
  }

  uint32_t memory_latency(const Instruction& inst) const {
    if (is_shared_matrix(inst)) return times_.shared_latency;
    if (!is_plain_load(inst)) return times_.cycle;
    switch (space_of(inst)) {
      case Space::shared:
        return times_.shared_latency;
      case Space::local:
        return times_.local_latency;
      case Space::param:
        return 0;
      default:
        return times_.shared_latency;
    }
  }

  static std::optional<Part> part_of(Unit unit) {
    switch (unit) {
      case Unit::integer:
        return Part::integer;
      case Unit::multiply:
        return Part::multiply;
      case Unit::f64:
        return Part::f64;
      case Unit::special:
      case Unit::exponential:
      case Unit::vote:
        return Part::special;
      case Unit::exchange:
      case Unit::load_store:
        return Part::load_store;
      default:
        return {};
    }
  }

  const ptx::Module& module_;
  const UnitTimes& times_;
};

// Slots of loads by register, over branches and moves.
class LoadSlots {
 public:
  explicit LoadSlots(const ptx::Function& f) : slot(f.body.size(), kNoSlot), of_register_(f.registers.size()) {
    uint32_t next = 0;
    for (size_t k = 0; k < f.body.size(); ++k) {
      if (!has_slot(f.body[k])) continue;
      slot[k] = static_cast<uint8_t>(next++ % kLoadSlots);
      for_each_register(f.body[k], [&](uint32_t r, bool written) {
        if (written) of_register_[r] |= static_cast<uint16_t>(1 << slot[k]);
      });
    }
    if (next == 0) return;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Instruction& inst : f.body) {
        if (!is_move(inst)) continue;
        const auto merged =
            static_cast<uint16_t>(of_register_[inst.operands[0].index] | of_register_[inst.operands[1].index]);
        changed |= merged != of_register_[inst.operands[0].index];
        of_register_[inst.operands[0].index] = merged;
      }
    }
  }

  static bool is_move(const Instruction& inst) {
    return inst.form == Form::mov && inst.guard.reg == ptx::kNoIndex &&
           inst.operands[0].kind == ptx::OperandKind::reg && inst.operands[1].kind == ptx::OperandKind::reg;
  }

  uint16_t of_register(uint32_t r) const { return of_register_[r]; }

  std::vector<uint8_t> slot;

 private:
  std::vector<uint16_t> of_register_;
};

// Calls of functions that the machine knows: nvcc's are inline, so that they take the time of what they are made of,
// their arguments and results pass without an instruction, and nothing waits for them but what uses their results.
class LibraryCalls {
 public:
  LibraryCalls(const ptx::Function& f, const Coster& coster) : coster_(coster), passes_(f.variables.size(), false) {
    for (const Instruction& inst : f.body) {
      if (is_call(inst)) for_each_variable(inst, [&](uint32_t v, bool) { passes_[v] = true; });
    }
  }

  bool is_call(const Instruction& inst) const { return coster_.calls_library(inst); }

  // The .param variable that the instruction fills or reads for such a call.
  std::optional<uint32_t> passed(const Instruction& inst) const {
    if ((inst.form != Form::ld && inst.form != Form::st) || space_of(inst) != Space::param) return {};
    for (const ptx::Operand& op : inst.operands) {
      if (op.kind != ptx::OperandKind::address || op.elements.empty()) continue;
      const ptx::Operand& base = op.elements[0];
      if (base.kind == ptx::OperandKind::symbol && base.in_function && passes_[base.index]) return base.index;
    }
    return {};
  }

  // fn(variable, is a result) for the arguments and results of a call.
  template <class F>
  static void for_each_variable(const Instruction& call, F fn) {
    for (const size_t k : {0u, 2u}) {
      if (k >= call.operands.size()) continue;
      const auto look_at = [&](const ptx::Operand& op) {
        if (op.kind == ptx::OperandKind::symbol && op.in_function) fn(op.index, k == 0);
      };
      look_at(call.operands[k]);
      for (const ptx::Operand& e : call.operands[k].elements) look_at(e);
    }
  }

 private:
  const Coster& coster_;
  std::vector<bool> passes_;
};

// The instructions between two ordered ones, in levels.
class Piece {
 public:
  Piece(const ptx::Module& module, uint32_t function, const UnitTimes& times, const LoadSlots& slots, SpanPlan& plan)
      : f_(module.functions[function]),
        function_(function),
        times_(times),
        coster_(module, times),
        library_(f_, coster_),
        slots_(slots),
        plan_(plan) {
    const ptx::Assembled& made = f_.assembled;
    const uint64_t words = (uint64_t{made.spill_store_bytes} + made.spill_load_bytes) / 4;
    spilled_ = words * times.cycle / std::max<size_t>(f_.body.size(), 1);
  }

  void begin(uint32_t at) {
    begin_ = at;
    levels_.clear();
    values_.clear();
    arguments_.clear();
    results_.clear();
    std::fill_n(floor_, kMemoryClasses, 0u);
    first_access_.clear();
  }

  // Nothing before it has to come before it in time.
  bool is_free(uint32_t k) const { return !is_ordered(f_.body[k]) || library_.is_call(f_.body[k]); }

  void add(uint32_t k) {
    const Instruction& inst = f_.body[k];
    if (const auto variable = library_.passed(inst)) return pass(inst, *variable);
    uint32_t level = 0, waits = 0;
    for_each_source(inst, [&](uint32_t r) { need(r, level, waits); });
    const bool load = is_plain_load(inst) || inst.form == Form::ldmatrix;
    const bool store = is_plain_store(inst) || inst.form == Form::stmatrix || inst.form == Form::stmatrix_b8;
    const uint32_t memory = memory_class(inst);
    const bool constant = inst.form == Form::ld_nc || space_of(inst) == Space::constant;
    if ((load && !constant) || store) level = std::max(level, floor_[memory]);
    if (LoadSlots::is_move(inst)) return move(inst);

    const Cost cost = coster_.cost(inst);
    Level& l = at(level);
    if (l.shares.empty() || (waits != 0 && l.waits == 0)) l.waiter = k;
    l.waits |= static_cast<uint16_t>(waits);
    uint64_t start = 0;
    for_each_source(inst, [&](uint32_t r) {
      const auto v = values_.find(r);
      if (v != values_.end() && v->second.level == level && v->second.slot == kNoSlot) {
        start = std::max(start, v->second.ready);
      }
    });
    l.issue += cost.issue;
    for (size_t p = 0; p < l.occupied.size(); ++p) l.occupied[p] += cost.occupied[p];
    l.issue += spilled_;
    l.occupied[static_cast<size_t>(Part::issue)] += static_cast<uint32_t>(spilled_);
    l.occupied[static_cast<size_t>(Part::load_store)] += static_cast<uint32_t>(spilled_);
    if (cost.issue != 0) l.shares.push_back({k, cost.issue});
    // What is used later in another piece is taken to be ready soon enough, apart from the shortest latency.
    const uint64_t shortest = times_.unit[static_cast<size_t>(Unit::fma)].latency;
    l.chain = std::max(l.chain, start + std::max<uint64_t>(cost.issue, std::min<uint64_t>(cost.latency, shortest)));
    // Their results go through memory that is not followed here.
    const bool inlined = library_.is_call(inst);
    if (is_jump(inst) || (inst.form == Form::call && !inlined)) l.chain = std::max(l.chain, start + cost.latency);
    const Value result{level, start + std::max(cost.latency, cost.issue), slots_.slot[k]};
    for_each_register(inst, [&](uint32_t r, bool written) {
      if (written) values_[r] = result;
    });
    if (inlined) {
      LibraryCalls::for_each_variable(inst, [&](uint32_t v, bool is_result) {
        if (is_result) results_[v] = result;
      });
    }
    if (store) floor_[memory] = std::max(floor_[memory], level);
    if ((load || store) && level != 0 && first_access_.size() <= level) first_access_.resize(level + 1, ptx::kNoIndex);
    if ((load || store) && level != 0 && first_access_[level] == ptx::kNoIndex) first_access_[level] = k;
  }

  // Spans of level 0 begin with the piece, others before the first access of their level; the rest before or behind
  // the last instruction.
  void end(uint32_t last, bool before_last) {
    uint32_t done = 0;
    const auto place = [&](uint32_t level, std::vector<Span>& where) {
      for (; done <= level && done < levels_.size(); ++done) {
        Span s = span_of(levels_[done]);
        if (s.time != 0 || s.waits != 0) where.push_back(std::move(s));
      }
    };
    place(0, plan_.before[begin_]);
    std::vector<std::pair<uint32_t, uint32_t>> order;  // position, level
    for (uint32_t level = 1; level < first_access_.size(); ++level) {
      if (first_access_[level] != ptx::kNoIndex) order.emplace_back(first_access_[level], level);
    }
    std::ranges::sort(order);
    for (const auto& [k, level] : order) place(level, plan_.before[k]);
    place(static_cast<uint32_t>(levels_.size()), before_last ? plan_.before[last] : plan_.behind[last]);
  }

 private:
  struct Level {
    uint64_t issue = 0, chain = 0;
    PartTimes occupied{};
    uint16_t waits = 0;
    uint32_t waiter = 0;
    std::vector<SpanShare> shares;
  };
  // Of a register that the piece writes.
  struct Value {
    uint32_t level = 0;
    uint64_t ready = 0;  // in its level's time
    uint8_t slot = kNoSlot;
  };

  Level& at(uint32_t level) {
    if (levels_.size() <= level) levels_.resize(level + 1);
    return levels_[level];
  }

  // The registers that an instruction reads; for a call of the library, those whose values it is passed.
  template <class F>
  void for_each_source(const Instruction& inst, F fn) const {
    for_each_register(inst, [&](uint32_t r, bool written) {
      if (!written) fn(r);
    });
    if (!library_.is_call(inst)) return;
    LibraryCalls::for_each_variable(inst, [&](uint32_t v, bool is_result) {
      const auto from = arguments_.find(v);
      if (!is_result && from != arguments_.end()) fn(from->second);
    });
  }

  // To or from a variable of such a call.
  void pass(const Instruction& inst, uint32_t variable) {
    for_each_register(inst, [&](uint32_t r, bool written) {
      if (!written) {
        arguments_[variable] = r;
      } else if (const auto result = results_.find(variable); result != results_.end()) {
        values_[r] = result->second;
      } else {
        values_.erase(r);
      }
    });
  }

  void need(uint32_t r, uint32_t& level, uint32_t& waits) const {
    const auto v = values_.find(r);
    if (v == values_.end()) {
      const uint16_t mask = slots_.of_register(r);
      if (mask != 0) level = std::max(level, 1u);
      waits |= mask;
      return;
    }
    const bool loaded = v->second.slot != kNoSlot;
    level = std::max(level, v->second.level + (loaded ? 1 : 0));
    if (loaded) waits |= 1u << v->second.slot;
  }

  // A compiler gives both registers the same place. A result that is under way stays so.
  void move(const Instruction& inst) {
    const auto from = values_.find(inst.operands[1].index);
    if (from != values_.end()) {
      values_[inst.operands[0].index] = from->second;
    } else {
      values_.erase(inst.operands[0].index);
    }
  }

  Span span_of(const Level& l) const {
    Span s;
    s.time = std::max(l.issue, l.chain);
    // A warp alone can't be faster than the units that it needs.
    for (const uint32_t busy : l.occupied) s.time = std::max<uint64_t>(s.time, busy);
    s.issue = static_cast<uint32_t>(l.issue);
    s.waits = l.waits;
    s.function = function_;
    s.waiter = l.waiter;
    s.occupied = l.occupied;
    s.shares = l.shares;
    return s;
  }

  const ptx::Function& f_;
  uint32_t function_;
  const UnitTimes& times_;
  Coster coster_;
  LibraryCalls library_;
  const LoadSlots& slots_;
  SpanPlan& plan_;
  // Picoseconds of an instruction's share of the loads and stores of spilled registers: where these stand is not told.
  uint64_t spilled_ = 0;
  uint32_t begin_ = 0;
  std::vector<Level> levels_;
  std::unordered_map<uint32_t, Value> values_;
  std::unordered_map<uint32_t, uint32_t> arguments_;  // .param variable → register
  std::unordered_map<uint32_t, Value> results_;       // by .param variable
  uint32_t floor_[kMemoryClasses] = {};
  std::vector<uint32_t> first_access_;  // by level
};

}  // namespace

SpanPlan plan_spans(const ptx::Module& module, uint32_t index, const UnitTimes& times) {
  const ptx::Function& f = module.functions[index];
  SpanPlan plan;
  plan.before.resize(f.body.size() + 1);
  plan.behind.resize(f.body.size() + 1);
  if (f.body.empty()) return plan;
  LoadSlots slots(f);
  const Flow flow = find_flow(f);
  Piece piece(module, index, times, slots, plan);
  for (size_t b = 0; b < flow.block_begin.size(); ++b) {
    const uint32_t begin = flow.block_begin[b];
    const auto end = b + 1 < flow.block_begin.size() ? flow.block_begin[b + 1] : static_cast<uint32_t>(f.body.size());
    piece.begin(begin);
    bool open = true;
    for (uint32_t k = begin; k < end; ++k) {
      if (!open) {
        piece.begin(k);
        open = true;
      }
      piece.add(k);
      if (piece.is_free(k)) continue;
      piece.end(k, true);
      open = false;
    }
    if (open) piece.end(end - 1, is_jump(f.body[end - 1]));
  }
  plan.slot = std::move(slots.slot);
  return plan;
}

}  // namespace fb::simt
