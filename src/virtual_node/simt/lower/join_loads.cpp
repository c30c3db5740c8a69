#include "virtual_node/simt/lower/join_loads.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "common/ptx/traits.h"
#include "virtual_node/simt/lower/alignment.h"
#include "virtual_node/simt/lower/flow.h"

namespace fb::simt {
namespace {

using ptx::Form;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;

constexpr uint32_t kWidest = 16;

struct Load {
  uint32_t at = 0;  // in the body
  int64_t offset = 0;
  uint32_t bytes = 0;
  std::vector<Operand> to;  // one register, or those of a vector
};

bool is_joinable(const Instruction& inst) {
  if (inst.form != Form::ld || inst.spaces.empty() || inst.spaces[0] != Space::shared) return false;
  if (inst.guard.reg != ptx::kNoIndex || ptx::order_of(inst) != ptx::MemoryOrder::weak) return false;
  const uint32_t element = ptx::bytes_of(inst.type());
  if ((element != 4 && element != 8) || inst.has(ptx::Mod::v4) || inst.has(ptx::Mod::v8)) return false;
  const Operand& from = inst.operands[1];
  return from.kind == OperandKind::address && from.elements.size() == 1 && from.elements[0].kind == OperandKind::reg;
}

// Arithmetic, and stores to other memory, leave shared memory alone.
bool may_change_shared(const Instruction& inst) {
  if (inst.form == Form::ld || inst.form == Form::ld_nc) return ptx::is_strong(ptx::order_of(inst));
  if (inst.form == Form::st && !ptx::is_strong(ptx::order_of(inst))) {
    const Space space = inst.spaces.empty() ? Space::generic : inst.spaces[0];
    return space == Space::generic || space == Space::shared || space == Space::shared_cluster;
  }
  return !ptx::traits(inst).computes;
}

class Joiner {
 public:
  Joiner(const ptx::Module& module, ptx::Function& f)
      : f_(f), zeros_(known_zero_bits(module, f)), named_(f.registers.size(), 0) {}

  void run() {
    const Flow flow = find_flow(f_);
    for (size_t b = 0; b < flow.block_begin.size(); ++b) {
      const uint32_t begin = flow.block_begin[b];
      const auto end =
          b + 1 < flow.block_begin.size() ? flow.block_begin[b + 1] : static_cast<uint32_t>(f_.body.size());
      for (uint32_t k = begin; k < end; ++k) look_at(k);
      join_all();
    }
  }

 private:
  // Loads that one instruction may stand for: of one type, from one base with one value.
  using Key = std::pair<uint32_t, ptx::Type>;

  void look_at(uint32_t k) {
    const Instruction& inst = f_.body[k];
    if (may_change_shared(inst)) join_all();
    if (is_joinable(inst)) keep(k, inst);
    for_each_register(inst, [&](uint32_t r, bool written) {
      named_[r] = k + 1;
      if (written) join_those_at(r);
    });
  }

  void keep(uint32_t k, const Instruction& inst) {
    const Operand& from = inst.operands[1];
    Load load{k, static_cast<int64_t>(from.bits), 0, {}};
    if (inst.operands[0].kind == OperandKind::vector) {
      load.to = inst.operands[0].elements;
    } else {
      load.to = {inst.operands[0]};
    }
    load.bytes = static_cast<uint32_t>(load.to.size()) * ptx::bytes_of(inst.type());
    // A register that was named behind the group's first load can't be written there.
    uint32_t named = 0;
    for (const Operand& to : load.to) {
      if (to.kind != OperandKind::reg || to.index == from.elements[0].index) return;
      named = std::max(named, named_[to.index]);
    }
    std::vector<Load>& loads = loads_[{from.elements[0].index, inst.type()}];
    if (!loads.empty() && named > loads.front().at) join(loads);
    loads.push_back(std::move(load));
  }

  void join_those_at(uint32_t base) {
    for (auto at = loads_.lower_bound({base, ptx::Type{}}); at != loads_.end() && at->first.first == base; ++at)
      join(at->second);
  }

  void join_all() {
    for (auto& [key, loads] : loads_) join(loads);
    loads_.clear();
  }

  void join(std::vector<Load>& loads) {
    std::ranges::sort(loads, {}, &Load::offset);
    for (size_t first = 0; first + 1 < loads.size();) {
      const size_t wide = reach(loads, first, kWidest), count = wide != 0 ? wide : reach(loads, first, kWidest / 2);
      if (count > 1) replace(loads, first, count);
      first += std::max<size_t>(count, 1);
    }
    loads.clear();
  }

  // How many loads from this one on make up exactly so many bytes, at an address that is a multiple of them; or 0.
  size_t reach(const std::vector<Load>& loads, size_t first, uint32_t bytes) const {
    const Operand& base = f_.body[loads[first].at].operands[1].elements[0];
    if (loads[first].offset % bytes != 0 || zeros_[base.index] < std::countr_zero(bytes)) return 0;
    uint32_t so_far = 0;
    for (size_t k = first; k < loads.size() && loads[k].offset == loads[first].offset + so_far; ++k) {
      so_far += loads[k].bytes;
      if (so_far == bytes) return k - first + 1;
      if (so_far > bytes) break;
    }
    return 0;
  }

  void replace(const std::vector<Load>& loads, size_t first, size_t count) {
    std::vector<Operand> to;
    uint32_t earliest = loads[first].at;
    for (size_t k = first; k < first + count; ++k) {
      to.insert(to.end(), loads[k].to.begin(), loads[k].to.end());
      earliest = std::min(earliest, loads[k].at);
    }
    const Operand from = f_.body[loads[first].at].operands[1];
    for (size_t k = first; k < first + count; ++k) {
      if (loads[k].at != earliest) f_.body[loads[k].at] = nothing(f_.body[loads[k].at], loads[k].to[0]);
    }
    Instruction& load = f_.body[earliest];
    load.mods.reset(static_cast<size_t>(ptx::Mod::v2));
    load.mods.set(static_cast<size_t>(to.size() == 4 ? ptx::Mod::v4 : ptx::Mod::v2));
    load.operands[0] = {.kind = OperandKind::vector, .elements = std::move(to), .at = load.operands[0].at};
    load.operands[1] = from;
  }

  static Instruction nothing(const Instruction& inst, const Operand& to) {
    Instruction move;
    move.form = Form::mov;
    move.types = {inst.type()};
    move.operands = {to, to};
    move.at = inst.at;
    move.source = inst.source;
    return move;
  }

  ptx::Function& f_;
  std::vector<uint8_t> zeros_;
  std::vector<uint32_t> named_;  // by register: behind the last instruction that names it
  std::map<Key, std::vector<Load>> loads_;
};

}  // namespace

void join_shared_loads(ptx::Module& module) {
  for (ptx::Function& f : module.functions) {
    if (f.defined && !f.body.empty()) Joiner(module, f).run();
  }
}

}  // namespace fb::simt
