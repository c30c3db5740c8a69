#include "cli/options/read_answer_file.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

namespace fb::cli {
namespace {

// Files may have no end (/dev/zero). What is merely too long gets a verdict.
constexpr size_t kLongestAnswer = size_t{256} << 20;

Result<std::string> read_answer(std::istream& in, const std::string& name) {
  std::string text;
  std::array<char, 1 << 16> part;
  while (text.size() <= kLongestAnswer && (in.read(part.data(), part.size()) || in.gcount() > 0))
    text.append(part.data(), static_cast<size_t>(in.gcount()));
  if (in.bad()) return error("cannot read " + name);
  if (text.size() > kLongestAnswer) return error(name + " has more than 256 MiB: that is no solution");
  return text;
}

}  // namespace

Result<std::string> read_answer_file(const std::string& problem, const std::string& file) {
  if (file == "-") return read_answer(std::cin, "standard input");
  std::ifstream in(file, std::ios::binary);
  const int why = in ? 0 : errno;
  if (std::filesystem::is_directory(file))
    return error(fmt::format("cannot read {}: it is a folder; name the file of the solution", file));
  if (why == ENOENT)
    return error(fmt::format("cannot read {}: there is no such file (`fabricbench template {} -o {}` begins one)", file,
                             problem, file));
  if (why != 0) return error(fmt::format("cannot read {}: {}", file, std::generic_category().message(why)));
  return read_answer(in, file);
}

}  // namespace fb::cli
