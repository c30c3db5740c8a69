#include "common/base/strings.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

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

std::string count_of(uint64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string first_line(std::string_view text) { return std::string(trim(split(trim(text), '\n').front())); }

std::string read_file(const std::string& path) {
  const auto fail = [&] { throw std::system_error(errno, std::generic_category(), "cannot read " + path); };
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts{};
  if (!file || fstat(file.get(), &facts) != 0) fail();
  // In large pieces, and no byte is touched twice. Files of /proc and pipes do not say how long they are: the end is
  // where nothing comes.
  constexpr size_t kLeast = 4096;
  const size_t piece = std::max(kLeast, static_cast<size_t>(facts.st_size) + 1);
  std::string content;
  for (bool more = true; more;) {
    const size_t length = content.size();
    ssize_t got = 0;
    content.resize_and_overwrite(length + piece, [&](char* bytes, size_t) {
      while ((got = read(file.get(), bytes + length, piece)) < 0 && errno == EINTR) continue;
      return length + static_cast<size_t>(std::max<ssize_t>(got, 0));
    });
    if (got < 0) fail();
    more = got > 0;
  }
  return content;
}

void write_file(const std::string& path, std::string_view content) {
  const auto fail = [&] { throw std::system_error(errno, std::generic_category(), "cannot write " + path); };
  constexpr int kMode = 0666;
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  if (!file) fail();
  while (!content.empty()) {
    const ssize_t wrote = write(file.get(), content.data(), content.size());
    if (wrote < 0 && errno != EINTR) fail();
    if (wrote > 0) content.remove_prefix(static_cast<size_t>(wrote));
  }
  // Some file systems say only here that it did not fit.
  if (close(file.release()) != 0 && errno != EINTR) fail();
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
