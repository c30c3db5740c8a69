#include "judge/catalog/interface.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "common/base/strings.h"

namespace fb::catalog {
namespace {

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// "const Item& item" → {"const Item&", "item"}.
Result<InterfaceParameter> split_name(std::string_view text) {
  text = trim(text);
  size_t begin = text.size();
  while (begin > 0 && in_name(text[begin - 1])) --begin;
  const std::string_view name = text.substr(begin), type = trim(text.substr(0, begin));
  if (name.empty() || type.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0)
    return error(fmt::format("'{}' is no type and name", text));
  return InterfaceParameter{std::string(type), std::string(name)};
}

}  // namespace

std::vector<std::string> Interface::objects() const {
  std::vector<std::string> names;
  for (const InterfaceFunction& function : device) {
    if (std::ranges::find(names, function.object) == names.end()) names.push_back(function.object);
  }
  return names;
}

Result<std::vector<InterfaceParameter>> parse_parameters(std::string_view text) {
  std::vector<InterfaceParameter> parameters;
  if (trim(text).empty()) return parameters;
  for (const std::string_view one : split(text, ',')) {
    auto parameter = split_name(one);
    if (!parameter) return std::unexpected(std::move(parameter.error()));
    parameters.push_back(std::move(*parameter));
  }
  return parameters;
}

Result<InterfaceFunction> parse_function(std::string_view text) {
  const size_t open = text.find('(');
  text = trim(text);
  if (open == std::string_view::npos || !text.ends_with(')'))
    return error(fmt::format("'{}' is no declaration, as \"bool pop(Item& item)\"", text));
  auto head = split_name(text.substr(0, open));
  if (!head) return std::unexpected(std::move(head.error()));
  InterfaceFunction function{.result = head->type, .object = {}, .name = head->name, .parameters = {}};
  if (function.result.ends_with("::")) {
    auto owner = split_name(std::string_view(function.result).substr(0, function.result.size() - 2));
    if (!owner) return std::unexpected(std::move(owner.error()));
    function.result = owner->type;
    function.object = owner->name;
  }
  auto parameters = parse_parameters(text.substr(open + 1, text.size() - open - 2));
  if (!parameters) return std::unexpected(std::move(parameters.error()));
  function.parameters = std::move(*parameters);
  return function;
}

}  // namespace fb::catalog
