#pragma once

// Parsing of numbers.

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace fb {

// True if the whole text is a number that fits; otherwise `number` is unchanged.
template <class T>
bool read_number(std::string_view text, T& number, int base = 10) {
  T value{};
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  std::from_chars_result read{};
  if constexpr (std::is_integral_v<T>) {
    read = std::from_chars(begin, end, value, base);
  } else {
    read = std::from_chars(begin, end, value);
  }
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return false;
  number = value;
  return true;
}

template <class T>
std::optional<T> as_number(std::string_view text, int base = 10) {
  T value{};
  return read_number(text, value, base) ? std::optional(value) : std::nullopt;
}

// The number with which the text begins.
template <class T>
T leading_number(std::string_view text, T otherwise = {}) {
  T value = otherwise;
  const char* const begin = text.data();
  std::from_chars(begin, begin + text.size(), value);
  return value;
}

}  // namespace fb
