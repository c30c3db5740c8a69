#include "base/strings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/result.h"

namespace fb {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string first_line(std::string_view text) { return std::string(trim(split(trim(text), '\n').front())); }

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (in) in.peek();  // a folder opens and can't be read
  if (!in.is_open() || in.bad()) throw std::system_error(errno, std::generic_category(), "cannot read " + path);
  std::string content{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) throw std::system_error(errno, std::generic_category(), "cannot read " + path);
  return content;
}

void write_file(const std::string& path, std::string_view content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.flush();
  if (!out) throw std::system_error(errno, std::generic_category(), "cannot write " + path);
}

std::string to_string(const Errors& errors, std::string_view file) {
  std::string text;
  for (const auto& [at, message] : errors.list) {
    if (at.line == 0) {
      text += fmt::format("{}: {}\n", file, message);
    } else {
      text += fmt::format("{}:{}:{}: {}\n", file, at.line, at.column, message);
    }
  }
  return text;
}

std::string in_one_line(const Errors& errors) {
  std::string text;
  for (const auto& [at, message] : errors.list) {
    if (!text.empty()) text += "; ";
    if (at.line > 0) text += fmt::format("{}:{}: ", at.line, at.column);
    text += trim(message);
  }
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace fb
