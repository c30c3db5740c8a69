// docs/reference/problems.md names everything that the loader knows.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/base/strings.h"
#include "judge/catalog/dtype.h"
#include "judge/catalog/rules.h"

namespace fb::catalog {
namespace {

std::string page() { return read_file(std::string(FB_SOURCE_DIR) + "/docs/reference/problems.md"); }

TEST(Page, HasARowForEveryKindOfRequestThatCanBeForbidden) {
  const std::string text = page();
  for (const Rule& rule : rules()) {
    std::string words;
    for (const std::string_view word : split(rule.words, ' '))
      words += fmt::format("{}`{}{}`", words.empty() ? "" : " ", word, word == "<<<" ? "" : "…");
    const std::string row = fmt::format("| `{}` | {} |\n", rule.kind, words);
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
}

TEST(Page, HasEveryDType) {
  const std::string text = page();
  for (size_t k = 0; k < kDTypes; ++k) {
    const auto name = name_of(static_cast<DType>(k));
    EXPECT_NE(text.find(fmt::format("`{}`", name)), std::string::npos) << name;
  }
}

TEST(Page, HasEveryKeyOfTheSkeleton) {
  const std::string text = page();
  const std::string toml = read_file(std::string(FB_SOURCE_DIR) + "/src/judge/catalog/skeleton/problem.toml");
  for (const std::string_view line : split(toml, '\n')) {
    const size_t equals = line.find(" =");
    if (equals == std::string_view::npos || line.starts_with('#')) continue;
    const std::string_view key = line.substr(0, equals);
    if (key == "n") continue;  // a parameter
    EXPECT_NE(text.find(fmt::format("| `{}` |", key)), std::string::npos) << key;
  }
}

}  // namespace
}  // namespace fb::catalog
