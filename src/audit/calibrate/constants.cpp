#include "audit/calibrate/constants.h"

#include <fmt/format.h>

#include <vector>

#include "common/base/numbers.h"
#include "common/base/strings.h"

namespace fb::calibrate {
namespace {

// The range of the number in "start = { value = 5.8, …"; empty if the line is no constant.
struct Number {
  size_t begin = 0, end = 0;
};

Number number_in(std::string_view line) {
  constexpr std::string_view kValue = "value = ";
  const size_t at = line.find(kValue);
  if (at == std::string_view::npos) return {};
  const size_t begin = at + kValue.size();
  return {begin, line.find_first_of(",} ", begin)};
}

// Calls f(line, key) for each line; the key is empty where none is set.
template <class F>
void each_line(std::string_view text, F f) {
  std::string section;
  for (const auto line : split(text, '\n')) {
    if (line.starts_with('[') && line.find(']') != std::string_view::npos) section = line.substr(1, line.find(']') - 1);
    const size_t equals = line.find(" = ");
    f(line, equals == std::string_view::npos || section.empty()
                ? std::string()
                : fmt::format("{}.{}", section, line.substr(0, equals)));
  }
}

}  // namespace

Result<Values> read_values(std::string_view platform_text, const std::vector<std::string>& keys) {
  Values all, wanted;
  each_line(platform_text, [&](std::string_view line, const std::string& key) {
    const auto [begin, end] = number_in(line);
    if (key.empty() || begin == end || end == std::string_view::npos) return;
    if (const auto value = as_number<double>(line.substr(begin, end - begin))) all[key] = *value;
  });
  for (const auto& key : keys) {
    const auto found = all.find(key);
    if (found == all.end()) return error(fmt::format("the platform's file has no {} of its own", key));
    wanted.insert(*found);
  }
  return wanted;
}

std::string with_values(std::string_view platform_text, const Values& values) {
  std::vector<std::string> lines;
  each_line(platform_text, [&](std::string_view line, const std::string& key) {
    const auto found = values.find(key);
    const auto [begin, end] = number_in(line);
    if (found == values.end() || begin == end) {
      lines.emplace_back(line);
    } else {
      lines.push_back(fmt::format("{}{:.4g}{}", line.substr(0, begin), found->second, line.substr(end)));
    }
  });
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace fb::calibrate
