#include "virtual_node/machine/deadlock/store_targets.h"

#include <algorithm>
#include <cstring>

#include "common/ptx/traits.h"
#include "virtual_node/simt/lower/operands.h"
#include "virtual_node/simt/tensor/tensor_map.h"

namespace fb::machine {
namespace {

using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;

constexpr uint64_t kMostScanned = 64 << 10;  // bytes of a table of pointers
constexpr uint32_t kPointer = 8;

// Every instruction that control may reach from `index`.
std::vector<bool> reachable(const ptx::Function& f, uint32_t index) {
  std::vector<bool> seen(f.body.size() + 1, false);
  std::vector<uint32_t> todo{index};
  while (!todo.empty()) {
    uint32_t k = todo.back();
    todo.pop_back();
    while (k < f.body.size() && !seen[k]) {
      seen[k] = true;
      const ptx::Instruction& inst = f.body[k];
      const bool guarded = inst.guard.reg != ptx::kNoIndex;
      for (const Operand& op : inst.operands) {
        if (op.kind == OperandKind::label) todo.push_back(op.index);
        if (op.kind != OperandKind::target_list || op.index >= f.target_lists.size()) continue;
        const auto& labels = f.target_lists[op.index].labels;
        todo.insert(todo.end(), labels.begin(), labels.end());
      }
      if (ptx::traits(inst).jumps && !guarded) break;
      ++k;
    }
  }
  return seen;
}

}  // namespace

void StoreTargets::add(const StoreTargets& other) {
  allocations.insert(other.allocations.begin(), other.allocations.end());
  sites.insert(other.sites.begin(), other.sites.end());
  shared |= other.shared;
  mbarrier |= other.mbarrier;
}

const StoreTargets& StoreAnalysis::from(uint32_t function, uint32_t index) {
  const auto [found, is_new] = known_.try_emplace({function, index});
  if (!is_new || !under_way_.insert(function).second) return found->second;
  StoreTargets out;
  const ptx::Function& f = facts_.module->functions[function];
  const std::vector<bool> seen = reachable(f, index);
  for (uint32_t k = 0; k < f.body.size(); ++k) {
    if (!seen[k]) continue;
    const ptx::Instruction& inst = f.body[k];
    if (ptx::traits(inst).writes) {
      add_store(f, inst, out);
      out.sites.insert({f.name, k});
    }
    out.mbarrier |= ptx::traits(inst).signals;
    if (inst.form == ptx::Form::call && inst.operands.size() > 1 && inst.operands[1].kind == OperandKind::function)
      out.add(from(inst.operands[1].index, 0));
  }
  under_way_.erase(function);
  StoreTargets& known = known_[{function, index}];
  known = std::move(out);
  return known;
}

void StoreAnalysis::add_store(const ptx::Function& f, const ptx::Instruction& inst, StoreTargets& out) {
  // Copies name the space of the destination first.
  const Space to = inst.spaces.empty() ? Space::generic : inst.spaces.front();
  if (to == Space::local || to == Space::param) return;
  if (to == Space::shared || to == Space::shared_cluster) {
    out.shared = true;
    return;
  }
  const auto address = std::ranges::find(inst.operands, OperandKind::address, &Operand::kind);
  if (address == inst.operands.end() || address->elements.empty()) return;
  const Operand& base = address->elements[0];
  Pointees pointees;
  std::set<uint32_t> visited;
  if (address->elements.size() > 1) {
    // [map, {c0, c1}]: the pointer to the tensor is in the tensor map.
    add_loaded(f, *address, simt::kTensorMapBytes, visited, pointees);
  } else if (base.kind == OperandKind::reg) {
    add_pointees(f, base.index, visited, pointees);
  } else if (base.kind == OperandKind::symbol) {
    add_symbol(f, base, pointees);
  }
  out.shared |= pointees.shared;
  out.allocations.insert(pointees.allocations.begin(), pointees.allocations.end());
  if (pointees.unknown) out.allocations.insert(everything().begin(), everything().end());
}

void StoreAnalysis::add_pointees(const ptx::Function& f, uint32_t reg, std::set<uint32_t>& visited, Pointees& out) {
  if (!visited.insert(reg).second) return;
  bool defined = false;
  for (const ptx::Instruction& inst : f.body) {
    const auto writes = [&](size_t k) {
      if (!simt::is_destination(inst, k)) return false;
      const Operand& d = inst.operands[k];
      return (d.kind == OperandKind::reg && d.index == reg) ||
             std::ranges::any_of(d.elements, [&](const Operand& e) { return e.index == reg; });
    };
    bool here = false;
    for (size_t k = 0; k < inst.operands.size(); ++k) here |= writes(k);
    if (!here) continue;
    defined = true;
    const ptx::Traits& t = ptx::traits(inst);
    if (inst.form == ptx::Form::call || t.writes) {
      out.unknown = true;
      continue;
    }
    if (t.reads) {
      const auto address = std::ranges::find(inst.operands, OperandKind::address, &Operand::kind);
      const uint64_t words = inst.operands[0].kind == OperandKind::vector ? inst.operands[0].elements.size() : 1;
      if (address != inst.operands.end()) add_loaded(f, *address, words * kPointer, visited, out);
      continue;
    }
    for (size_t k = 0; k < inst.operands.size(); ++k) {
      if (writes(k)) continue;
      const Operand& op = inst.operands[k];
      // Numbers of 32 bits are indices, and pointers to shared memory.
      if (op.kind == OperandKind::reg && ptx::bits_of(f.registers[op.index].type) == 64)
        add_pointees(f, op.index, visited, out);
      if (op.kind == OperandKind::symbol) add_symbol(f, op, out);
      for (const Operand& e : op.elements) {
        if (e.kind == OperandKind::reg && ptx::bits_of(f.registers[e.index].type) == 64)
          add_pointees(f, e.index, visited, out);
      }
    }
  }
  if (!defined) out.unknown = true;
}

void StoreAnalysis::add_loaded(const ptx::Function& f, const Operand& address, uint64_t bytes,
                               std::set<uint32_t>& visited, Pointees& out) {
  if (address.elements.empty()) return;
  const Operand& base = address.elements[0];
  const bool is_kernel = &f == &facts_.module->functions[facts_.function];
  const auto& params = *facts_.params;
  if (base.kind == OperandKind::symbol && base.in_function) {
    if (!is_kernel || base.index >= f.params || base.index >= facts_.param_offsets->size()) {
      out.unknown = true;
      return;
    }
    const uint64_t at = (*facts_.param_offsets)[base.index] + address.bits + base.bits;
    if (at + bytes <= params.size()) add_words(params.data() + at, bytes, out);
    return;
  }
  Pointees holders;
  if (base.kind == OperandKind::symbol) add_symbol(f, base, holders);
  if (base.kind == OperandKind::reg) add_pointees(f, base.index, visited, holders);
  if (holders.params && is_kernel) add_words(params.data(), params.size(), out);
  out.unknown |= holders.unknown || holders.shared || (holders.params && !is_kernel);
  for (const mem::Allocation* a : holders.allocations) add_words(a->bytes.get(), std::min(a->size, kMostScanned), out);
}

void StoreAnalysis::add_symbol(const ptx::Function& f, const Operand& symbol, Pointees& out) const {
  const ptx::Variable& v = symbol.in_function ? f.variables[symbol.index] : facts_.module->variables[symbol.index];
  if (v.space == Space::param) {
    out.params = true;
  } else if (v.space == Space::shared || v.space == Space::shared_cluster) {
    out.shared = true;
  } else if (v.space == Space::local) {
    out.unknown = true;
  } else if (const mem::Address a = facts_.address_of ? facts_.address_of(v.name) : 0) {
    add_pointer(a, out);
  }
}

void StoreAnalysis::add_pointer(mem::Address a, Pointees& out) const {
  if (!mem::is_memory(a)) return;
  const mem::Window* window = facts_.space->find(a);
  if (!window) return;
  if (window->allocation) out.allocations.insert(window->allocation.get());
  if (!window->multicast) return;
  for (const auto& member : window->multicast->members) {
    const auto* piece = member.piece_at(a - window->begin + window->offset);
    if (piece && piece->allocation) out.allocations.insert(piece->allocation.get());
  }
}

void StoreAnalysis::add_words(const std::byte* begin, uint64_t bytes, Pointees& out) const {
  for (uint64_t at = 0; at + kPointer <= bytes; at += kPointer) {
    mem::Address a = 0;
    std::memcpy(&a, begin + at, sizeof a);
    add_pointer(a, out);
  }
}

// The memory that parameters and variables point to, and the memory that pointers in it point to.
const std::set<const mem::Allocation*>& StoreAnalysis::everything() {
  if (has_everything_) return everything_;
  has_everything_ = true;
  Pointees all;
  add_words(facts_.params->data(), facts_.params->size(), all);
  for (const ptx::Variable& v : facts_.module->variables) {
    if (v.space != Space::global && v.space != Space::constant) continue;
    if (const mem::Address a = facts_.address_of ? facts_.address_of(v.name) : 0) add_pointer(a, all);
  }
  for (const mem::Allocation* a : std::set(all.allocations)) {
    if (a->size <= kMostScanned) add_words(a->bytes.get(), a->size, all);
  }
  everything_ = std::move(all.allocations);
  return everything_;
}

}  // namespace fb::machine
