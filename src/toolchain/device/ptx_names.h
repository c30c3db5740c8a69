#pragma once

// Names in PTX and mangled names, by their characters.

namespace fb::toolchain {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
// A dot is clang's, between a name and the number of a local variable.
inline bool in_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '.';
}

}  // namespace fb::toolchain
