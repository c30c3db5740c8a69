// What people and programs read, as approved. `FABRICBENCH_APPROVE=1 ctest --preset dev -R Printers` writes it anew.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "campaign/report/printers.h"
#include "campaign/report/wording.h"
#include "common/base/strings.h"
#include "tests/unit/report/made_run.h"

namespace fb::report {
namespace {

const std::string kFolder = std::string(FB_SOURCE_DIR) + "/tests/unit/report";

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = kFolder + "/golden/" + name;
  if (std::getenv("FABRICBENCH_APPROVE") != nullptr) write_file(path, text);
  EXPECT_EQ(text, read_file(path)) << path;
}

// One line for each member, and for each element of an array.
std::string in_lines(const std::string& json) {
  const auto members = nlohmann::ordered_json::parse(json);
  std::string text;
  for (const auto& [key, value] : members.items()) {
    if (!value.is_array()) text += key + ": " + value.dump() + "\n";
    for (size_t k = 0; value.is_array() && k < value.size(); ++k)
      text += key + "[" + std::to_string(k) + "]: " + value[k].dump() + "\n";
  }
  return text;
}

std::vector<record::Run> small() {
  auto run = record::read_run(kFolder + "/runs/small");
  EXPECT_TRUE(run) << to_string(run.error(), "");
  if (!run) return {};
  run->folder = "runs/small";  // wherever the sources are
  return {std::move(*run)};
}

Summary summary_of(const std::vector<record::Run>& runs) { return summarise(runs).value(); }

size_t longest_line(const std::string& text) {
  size_t longest = 0;
  for (const std::string_view line : split(text, '\n')) longest = std::max(longest, columns_of(line));
  return longest;
}

TEST(Printers, TheSmallRunIsReportedAsApproved) {
  const auto runs = small();
  const Summary summary = summary_of(runs);
  expect_golden("small.console.txt", to_console(summary, {.look = {.width = 80}, .matrix = true}));
  expect_golden("small.md", to_markdown(summary));
  expect_golden("small.csv", leaderboard_csv(summary));
  expect_golden("small.attempts.csv", attempts_csv(summary, runs));
  expect_golden("small.summary.txt", in_lines(to_json(summary)));
}

// By hand, of tests/unit/report/runs/small:
//   alpha  copy_one 2 of 2 (1.0, 0.64), ring_sum 1 of 2 (1.25), fused_gemm infra.
//          pass rate (1 + 1/2) / 2 = 0.75; GM sqrt(sqrt(1 × 0.64) × 1.25) = 1; good (1/2 + 1/2) / 2
//   beta   copy_one 1 of 1 (0.8), ring_sum 0 of 1, fused_gemm failed: pass rate 0.5, GM 0.8, good 0
TEST(Printers, TheSmallRunsFiguresAreThoseComputedByHand) {
  const auto json = nlohmann::json::parse(to_json(summary_of(small())));
  const auto& alpha = json["models"][0];
  const auto& beta = json["models"][1];
  EXPECT_EQ(alpha["label"], "alpha");
  EXPECT_EQ(alpha["scores"]["pass_rate"]["value"], 0.75);
  EXPECT_EQ(alpha["scores"]["gm_speedup"]["value"], 1.0);
  EXPECT_EQ(alpha["scores"]["pass_gm"]["value"], 0.75);
  EXPECT_EQ(alpha["scores"]["pass_good"]["value"], 0.5);
  EXPECT_EQ(alpha["scores"]["sol"]["value"], 0.4);       // sqrt(sqrt(0.5 × 0.32) × 0.4)
  EXPECT_EQ(alpha["pass_at"][1]["rate"]["value"], 1.0);  // 2 of 2, and 1 of 2: always one of both
  EXPECT_EQ(alpha["by_round"][0]["pass_rate"]["value"], 0.25);
  EXPECT_EQ(alpha["by_round"][1]["gain"], 0.5);
  EXPECT_EQ(alpha["price"]["usd"], 0.18);
  EXPECT_EQ(alpha["price"]["usd_per_problem"], 0.06);  // three were tried
  EXPECT_EQ(alpha["price"]["usd_per_pass"], 0.06);     // three samples passed
  EXPECT_EQ(alpha["excluded"][0]["problem"], "fused_gemm");
  EXPECT_EQ(beta["scores"]["pass_rate"]["value"], 0.5);
  EXPECT_EQ(beta["scores"]["pass_gm"]["value"], 0.4);
  EXPECT_EQ(beta["scores"]["pass_gm"]["low"], nullptr);  // one speed says nothing about speeds
  EXPECT_EQ(beta["scores"]["pass_good"]["value"], 0.0);
  EXPECT_EQ(beta["price"]["calls_without_price"], 1);
  EXPECT_EQ(beta["not_separated"][0], "alpha");
}

TEST(Printers, TheConsoleKeepsToItsWidth) {
  auto runs = small();
  for (int k = 0; k < 12; ++k) {
    const std::string label = fmt::format("a-model-with-quite-a-long-name-{}", k);
    runs[0].plan.models.push_back({.label = label});
    runs[0].attempts.push_back(made_attempt(label, "copy_one", 1, 1, "pass", 0.9));
  }
  const Summary summary = summary_of(runs);
  for (const uint32_t width : {80U, 100U, 160U}) {
    const std::string text = to_console(summary, {.look = {.width = width}, .matrix = true});
    EXPECT_LE(longest_line(text), width);
    EXPECT_EQ(text.find('\033'), std::string::npos);
  }
  // More room, more columns.
  EXPECT_EQ(to_console(summary, {.look = {.width = 80}}).find("$ in all"), std::string::npos);
  EXPECT_NE(to_console(summary, {.look = {.width = 160}}).find("$ in all"), std::string::npos);
}

TEST(Printers, ColourIsForTerminals) {
  const std::string text = to_console(summary_of(small()), {.look = {.width = 80, .colour = true}});
  EXPECT_NE(text.find("\033[1m"), std::string::npos);
}

TEST(Printers, ARunWithoutAttemptsSaysSo) {
  const std::vector<record::Run> runs = {made_run({"a"}, {"p"})};
  const Summary summary = summary_of(runs);
  EXPECT_NE(to_console(summary, {}).find("No attempt has finished yet."), std::string::npos);
  EXPECT_NE(to_markdown(summary).find("No attempt has finished yet."), std::string::npos);
  EXPECT_EQ(std::ranges::count(leaderboard_csv(summary), '\n'), 2);  // names, and the model
  EXPECT_EQ(std::ranges::count(attempts_csv(summary, runs), '\n'), 1);
  EXPECT_EQ(nlohmann::json::parse(to_json(summary))["models"][0]["scores"]["pass_rate"]["value"], nullptr);
  EXPECT_NE(to_console(summary_of({}), {}).find("No attempt"), std::string::npos);
}

TEST(Printers, CsvQuotesWhatNeedsIt) {
  std::vector<record::Run> runs = {made_run({"a"}, {"p"})};
  runs[0].attempts = {made_attempt("a", "p", 1, 1, "wrong")};
  runs[0].attempts[0].verdict->summary = "two \"words\", and\na line";
  const std::string csv = attempts_csv(summary_of(runs), runs);
  EXPECT_NE(csv.find(",\"two \"\"words\"\", and\na line\","), std::string::npos) << csv;
}

TEST(Printers, MarkdownCellsCannotEndTheTable) {
  Table table{.columns = {{.title = "a|b"}}, .rows = {{"x | y\nz"}}};
  EXPECT_EQ(as_markdown(table), "| a\\|b |\n|---:|\n| x \\| y z |\n");
}

TEST(Printers, TablesLeaveOutWhatMattersLeastAndThenShorten) {
  const Table table{.columns = {{.title = "name", .right = false, .may_shrink = true},
                                {.title = "kept"},
                                {.title = "less", .keep = 20},
                                {.title = "least", .keep = 10}},
                    .rows = {{"alpha-alpha-alpha", "1", "22", "333"}}};
  EXPECT_EQ(as_text(table, {.width = 80}),
            "name               kept  less  least\n"
            "alpha-alpha-alpha     1    22    333\n");
  EXPECT_EQ(as_text(table, {.width = 30}),
            "name               kept  less\n"
            "alpha-alpha-alpha     1    22\n");
  EXPECT_EQ(as_text(table, {.width = 16}),
            "name        kept\n"
            "alpha-alp…     1\n");
  EXPECT_EQ(as_text_in_parts(table, 1, {.width = 24}),
            "name          kept  less\n"
            "alpha-alpha…     1    22\n"
            "\n"
            "name               least\n"
            "alpha-alpha-alpha    333\n");
}

TEST(Printers, WordsOfFigures) {
  EXPECT_EQ(percent(0.5744), "57.4%");
  EXPECT_EQ(percent(std::nullopt), "–");
  EXPECT_EQ(ratio(0.8129), "0.813");
  EXPECT_EQ(percent_with_interval({0.574, Interval{0.471, 0.668}}), "57.4% 47–67");
  EXPECT_EQ(ratio_with_interval({0.467, std::nullopt}), "0.467");
  const Price known{.usd = 1.914, .calls = 3};
  EXPECT_EQ(dollars(known, known.usd), "$1.91");
  EXPECT_EQ(dollars(known, 0.00123), "$0.0012");
  EXPECT_EQ(dollars(known, std::nullopt), "–");
  EXPECT_EQ(dollars({.usd = 1.914, .calls = 3, .without_price = 1}, 1.914), "≥ $1.91");
  EXPECT_EQ(dollars({.calls = 3, .without_price = 3}, std::nullopt), "unknown");
  EXPECT_EQ(dollars({}, std::nullopt), "–");
  EXPECT_EQ(tokens({.input_tokens = 900, .output_tokens = 99}), "999");
  EXPECT_EQ(tokens({.input_tokens = 1200, .output_tokens = 50}), "1.2k");
  EXPECT_EQ(tokens({.input_tokens = 2500000, .output_tokens = 0}), "2.5M");
  EXPECT_EQ(wrapped("one two three", 8, 2), "one two\n  three\n");
}

}  // namespace
}  // namespace fb::report
