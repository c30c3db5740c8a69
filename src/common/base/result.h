#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fb {

// A position in a text, 1-based; line 0 means the whole input.
struct Location {
  uint32_t line = 0;
  uint32_t column = 0;
  friend bool operator==(const Location&, const Location&) = default;
};

struct Diagnostic {
  Location at;
  std::string message;
};

// The errors of an input; never empty.
struct Errors {
  std::vector<Diagnostic> list;

  Errors() = default;
  explicit Errors(std::string message, Location at = {}) { list.push_back({at, std::move(message)}); }
};

// Wrong input is reported as a value that callers cannot ignore.
template <class T>
using Result = std::expected<T, Errors>;

inline std::unexpected<Errors> error(std::string message, Location at = {}) {
  return std::unexpected(Errors(std::move(message), at));
}

// "file:line:column: message", one diagnostic a line.
std::string to_string(const Errors& errors, std::string_view file);
// "message; line:column: message", in one line.
std::string in_one_line(const Errors& errors);

}  // namespace fb
