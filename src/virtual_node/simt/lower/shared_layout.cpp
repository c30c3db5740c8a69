#include "virtual_node/simt/lower/shared_layout.h"

#include <algorithm>
#include <functional>

#include "virtual_node/mem/layout.h"

namespace fb::simt {
namespace {

uint32_t align_up(uint32_t value, uint32_t align) { return (value + align - 1) / align * align; }

// Calls fn for every operand, nested ones too.
void for_each_operand(const ptx::Operand& op, const std::function<void(const ptx::Operand&)>& fn) {
  fn(op);
  for (const auto& e : op.elements) for_each_operand(e, fn);
}

constexpr uint32_t kDynamicAlign = 128;

}  // namespace

// A variable used by one kernel only gets an address of its own there. One that several kernels reach, through device
// functions that were not inlined, has one address for all of them, below everything else. Unsized arrays (extern
// __shared__) follow the static ones; device functions must find them at the same offset in every kernel.
SharedLayout::SharedLayout(const ptx::Module& module) : module_(module) {
  const size_t n = module.functions.size();
  static_bytes_.resize(n);
  own_.resize(n);

  struct Uses {
    std::vector<Key> variables;
    std::vector<uint32_t> calls;
    bool dynamic = false;
    bool indirect = false;
  };
  std::vector<Uses> uses(n);
  for (uint32_t f = 0; f < n; ++f) {
    for (const auto& inst : module.functions[f].body) {
      for (const auto& operand : inst.operands) {
        for_each_operand(operand, [&](const ptx::Operand& op) {
          if (op.kind == ptx::OperandKind::function) uses[f].calls.push_back(op.index);
          if (op.kind != ptx::OperandKind::symbol) return;
          const auto& variable = op.in_function ? module.functions[f].variables[op.index] : module.variables[op.index];
          if (variable.space != ptx::Space::shared) return;
          if (variable.unsized) {
            uses[f].dynamic = true;
          } else {
            uses[f].variables.push_back({op.in_function ? f : ptx::kNoIndex, op.index});
          }
        });
      }
      if (inst.form == ptx::Form::call && inst.operands.size() > 1 && inst.operands[1].kind == ptx::OperandKind::reg) {
        uses[f].indirect = true;
      }
    }
  }
  // What each kernel reaches. A call through a pointer may reach any function.
  std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n, false));
  for (uint32_t k = 0; k < n; ++k) {
    if (!module.functions[k].entry) continue;
    std::vector<uint32_t> todo{k};
    reaches[k][k] = true;
    const auto visit = [&](uint32_t f) {
      if (f >= n || reaches[k][f]) return;
      reaches[k][f] = true;
      todo.push_back(f);
    };
    while (!todo.empty()) {
      const uint32_t f = todo.back();
      todo.pop_back();
      for (uint32_t c : uses[f].calls) visit(c);
      if (!uses[f].indirect) continue;
      for (uint32_t c = 0; c < n; ++c) {
        if (!module.functions[c].entry) visit(c);
      }
    }
  }

  const auto variable_of = [&](const Key& key) -> const ptx::Variable& {
    return key.function == ptx::kNoIndex ? module.variables[key.variable]
                                         : module.functions[key.function].variables[key.variable];
  };
  const auto assign = [&](std::unordered_map<Key, uint32_t, KeyHash>& map, const Key& key, uint32_t& top) {
    if (map.contains(key)) return;
    const ptx::Variable& v = variable_of(key);
    top = align_up(top, std::max(v.align, 1u));
    map[key] = top;
    top += static_cast<uint32_t>(v.bytes);
  };

  uint32_t common_top = mem::kSharedReserved;
  for (uint32_t f = 0; f < n; ++f) {
    if (module.functions[f].entry) continue;
    for (const Key& key : uses[f].variables) assign(common_, key, common_top);
  }
  bool dynamic_in_functions = false;
  for (uint32_t k = 0; k < n; ++k) {
    if (!module.functions[k].entry) continue;
    bool reaches_common = false;
    for (uint32_t f = 0; f < n; ++f) {
      if (f == k || !reaches[k][f]) continue;
      reaches_common |= !uses[f].variables.empty();
      dynamic_in_functions |= uses[f].dynamic;
    }
    for (const Key& key : uses[k].variables) reaches_common |= common_.contains(key);
    uint32_t top = reaches_common ? common_top : mem::kSharedReserved;
    for (const Key& key : uses[k].variables) {
      if (!common_.contains(key)) assign(own_[k], key, top);
    }
    static_bytes_[k] = top - mem::kSharedReserved;
  }
  uint32_t largest = 0;
  for (uint32_t& bytes : static_bytes_) {
    if (bytes != 0) bytes = align_up(bytes, kDynamicAlign);
    largest = std::max(largest, bytes);
  }
  if (dynamic_in_functions) std::ranges::fill(static_bytes_, largest);
}

uint32_t SharedLayout::address_of(uint32_t function, const ptx::Operand& symbol) const {
  const Key key{symbol.in_function ? function : ptx::kNoIndex, symbol.index};
  const auto& variable =
      symbol.in_function ? module_.functions[function].variables[symbol.index] : module_.variables[symbol.index];
  // Device functions see the dynamic part where every kernel has it: static_bytes_ are all equal then.
  if (variable.unsized) return mem::kSharedReserved + static_bytes_[function];
  if (const auto found = common_.find(key); found != common_.end()) return found->second;
  return own_[function].at(key);
}

}  // namespace fb::simt
