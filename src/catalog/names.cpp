#include "catalog/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace fb::catalog {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_joined(std::string_view name, std::string_view joints) {
  bool joint = true;  // not at the begin, not twice, not at the end
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

enum class Ends : uint8_t { count, free };

// Levenshtein, with one row. With free ends it is that of the part of `b` that is most like `a`.
size_t distance(std::string_view a, std::string_view b, Ends ends) {
  std::vector<size_t> row(b.size() + 1, 0);
  if (ends == Ends::count) std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return ends == Ends::count ? row.back() : *std::ranges::min_element(row);
}

}  // namespace

bool is_snake_case(std::string_view name) { return !name.empty() && is_lower(name[0]) && is_joined(name, "_"); }
bool is_label(std::string_view name) { return is_joined(name, "-_"); }

std::string why_no_field(std::string_view name) {
  if (!is_snake_case(name)) return fmt::format("'{}' is not snake_case", name);
  if (name == "world" || name == "rank") return fmt::format("'{}' is known to every expression already", name);
  if (name == "min" || name == "max" || name == "ceil_div")
    return fmt::format("'{}' is a function of expressions", name);
  if (std::ranges::find(kTaken, name) != kTaken.end()) return fmt::format("'{}' means something else in C++", name);
  if (name.ends_with("_t")) return fmt::format("'{}' looks like a type", name);
  return {};
}

std::vector<std::string> nearest(std::string_view word, std::span<const std::string> known) {
  // A part of a name counts as near as well, but less: "one_shot" for "all_reduce_one_shot".
  constexpr size_t kMost = 3, kShortestPart = 4;
  const size_t reach = std::max<size_t>(1, word.size() / 4);
  std::vector<std::pair<size_t, std::string>> found;
  for (const std::string& name : known) {
    if (const size_t whole = distance(word, name, Ends::count); whole <= reach) {
      found.emplace_back(whole, name);
    } else if (word.size() >= kShortestPart) {
      const size_t part = distance(word, name, Ends::free);
      if (part <= reach) found.emplace_back(reach + 1 + part, name);
    }
  }
  std::ranges::sort(found);
  std::vector<std::string> names;
  for (size_t k = 0; k < std::min(kMost, found.size()); ++k) names.push_back(std::move(found[k].second));
  return names;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  std::string text;
  for (const std::string& name : nearest(word, known)) text += fmt::format("{}'{}'", text.empty() ? "" : " or ", name);
  return text.empty() ? text : "; did you mean " + text + "?";
}

}  // namespace fb::catalog
