#include "judge/catalog/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fb::catalog {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_joined(std::string_view name, std::string_view joints) {
  bool joint = true;  // not first, not repeated, not last
  for (const char c : name) {
    const bool is_joint = joints.find(c) != std::string_view::npos;
    if (is_joint ? joint : !is_lower(c) && !is_digit(c)) return false;
    joint = is_joint;
  }
  return !joint;
}

// Keywords and macros that a lower-case field can collide with.
constexpr auto kTaken = std::to_array<std::string_view>({
    "alignas",      "alignof",       "and",         "asm",       "assert",
    "auto",         "bitand",        "bitor",       "bool",      "break",
    "case",         "catch",         "char",        "class",     "co_await",
    "co_return",    "co_yield",      "compl",       "concept",   "const",
    "const_cast",   "consteval",     "constexpr",   "constinit", "continue",
    "decltype",     "default",       "delete",      "do",        "double",
    "dynamic_cast", "else",          "enum",        "errno",     "explicit",
    "export",       "extern",        "false",       "float",     "for",
    "friend",       "goto",          "if",          "inline",    "int",
    "linux",        "long",          "mutable",     "namespace", "new",
    "noexcept",     "not",           "nullptr",     "operator",  "or",
    "private",      "protected",     "public",      "register",  "reinterpret_cast",
    "requires",     "return",        "short",       "signed",    "sizeof",
    "static",       "static_assert", "static_cast", "stderr",    "stdin",
    "stdout",       "struct",        "switch",      "template",  "this",
    "thread_local", "throw",         "true",        "try",       "typedef",
    "typeid",       "typename",      "union",       "unix",      "unsigned",
    "using",        "virtual",       "void",        "volatile",  "wchar_t",
    "while",        "xor",
});

}  // namespace

bool is_snake_case(std::string_view name) { return !name.empty() && is_lower(name[0]) && is_joined(name, "_"); }
bool is_label(std::string_view name) { return is_joined(name, "-_"); }

std::string why_no_field(std::string_view name) {
  if (!is_snake_case(name)) return fmt::format("'{}' is not snake_case", name);
  if (name == "world" || name == "rank") return fmt::format("'{}' is predefined in every expression", name);
  if (name == "min" || name == "max" || name == "ceil_div")
    return fmt::format("'{}' is a function of expressions", name);
  if (std::ranges::find(kTaken, name) != kTaken.end()) return fmt::format("'{}' has another meaning in C++", name);
  if (name.ends_with("_t")) return fmt::format("'{}' looks like a type", name);
  return {};
}

}  // namespace fb::catalog
