#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fb {

std::vector<std::string_view> split(std::string_view text, char separator);
// The parts of a temporary would outlive it.
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> split(Temporary&& text, char separator) = delete;
std::string_view trim(std::string_view text);
// The first line of the trimmed text.
std::string first_line(std::string_view text);
// "1 report", "2 reports".
std::string count_of(uint64_t number, std::string_view what);

// Whole files; throw std::system_error with the path in the message.
std::string read_file(const std::string& path);
void write_file(const std::string& path, std::string_view content);

}  // namespace fb
