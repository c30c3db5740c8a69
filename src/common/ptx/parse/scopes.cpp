#include "common/ptx/parse/scopes.h"

#include <utility>

namespace fb::ptx {
namespace {

// "%r12" → {"%r", 12}; an empty prefix when the name has no number that a range could have made.
std::pair<std::string_view, uint32_t> split_number(std::string_view name) {
  size_t start = name.size();
  while (start > 0 && name[start - 1] >= '0' && name[start - 1] <= '9') --start;
  const size_t digits = name.size() - start;
  if (start == 0 || digits == 0 || digits > 7 || (digits > 1 && name[start] == '0')) return {{}, 0};
  uint32_t number = 0;
  for (size_t i = start; i < name.size(); ++i) number = number * 10 + static_cast<uint32_t>(name[i] - '0');
  return {name.substr(0, start), number};
}

}  // namespace

Binding Scopes::find_in(const Scope& scope, std::string_view name, std::string_view prefix, uint32_t number) {
  if (!prefix.empty() && !scope.ranges.empty()) {
    const auto range = scope.ranges.find(prefix);
    if (range != scope.ranges.end() && number < range->second.count) {
      return {Binding::Kind::reg, range->second.first + number, 0};
    }
  }
  if (scope.names.empty()) return {};
  const auto it = scope.names.find(name);
  return it == scope.names.end() ? Binding{} : it->second;
}

Binding Scopes::find(std::string_view name) const {
  const auto [prefix, number] = split_number(name);
  for (auto scope = stack_.rbegin(); scope != stack_.rend(); ++scope) {
    const Binding binding = find_in(*scope, name, prefix, number);
    if (binding.kind != Binding::Kind::none) return binding;
  }
  return {};
}

bool Scopes::declare(std::string_view name, Binding binding) {
  const auto [prefix, number] = split_number(name);
  Scope& scope = stack_.back();
  if (find_in(scope, name, prefix, number).kind != Binding::Kind::none) return false;
  return scope.names.emplace(name, binding).second;
}

bool Scopes::declare_range(std::string_view prefix, uint32_t first, uint32_t count) {
  Scope& scope = stack_.back();
  for (const auto& [name, binding] : scope.names) {
    const auto [other_prefix, number] = split_number(name);
    if (other_prefix == prefix && number < count) return false;
  }
  return scope.ranges.emplace(prefix, Range{first, count}).second;
}

std::vector<std::pair<LabelUse, uint32_t>> Scopes::take_resolved() {
  Scope& scope = stack_.back();
  std::vector<std::pair<LabelUse, uint32_t>> resolved;
  std::erase_if(scope.label_uses, [&](const LabelUse& use) {
    const auto it = scope.names.find(use.name);
    if (it == scope.names.end() || it->second.kind != Binding::Kind::label) return false;
    resolved.emplace_back(use, it->second.index);
    return true;
  });
  return resolved;
}

void Scopes::pop() {
  Scope inner = std::move(stack_.back());
  stack_.pop_back();
  if (stack_.empty()) return;
  auto& outer = stack_.back().label_uses;
  outer.insert(outer.end(), inner.label_uses.begin(), inner.label_uses.end());
}

}  // namespace fb::ptx
