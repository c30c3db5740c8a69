#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "campaign/report/site/site.h"
#include "campaign/report/site/words.h"
#include "common/base/strings.h"
#include "report/made_run.h"
#include "scratch_folder.h"

namespace fb::report {
namespace {

namespace fs = std::filesystem;

class WriteSite : public testing::Test {
 protected:
  void SetUp() override {
    // Pages must not depend on what this build has.
    setenv("FABRICBENCH_WEB", "/nowhere", 1);
  }

  void write(const std::vector<record::Run>& runs, const SiteOptions& options = {}) {
    const auto summary = summarise(runs);
    ASSERT_TRUE(summary) << to_string(summary.error(), "");
    const auto written = write_site(*summary, runs, options, folder_.string());
    ASSERT_TRUE(written) << to_string(written.error(), "");
  }
  std::string page(const std::string& name) { return read_file((folder_ / name).string()); }
  size_t attempt_pages() {
    size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "attempts")) count += entry.is_regular_file();
    return count;
  }

  ScratchFolder scratch_;
  const fs::path folder_ = scratch_.path("site");
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_F(WriteSite, WritesAPageForEveryProblemAndAttempt) {
  auto run = made_run({"one", "two"}, {"copy", "ring"}, 2);
  run.plan.name = "A & B";
  run.attempts = {made_attempt("one", "copy", 1, 1, "wrong"), made_attempt("one", "copy", 1, 2, "pass", 1.1, 0.5),
                  made_attempt("two", "ring", 1, 1, "refused")};
  write({run});
  EXPECT_TRUE(has(page("index.html"), "<h1>A &amp; B</h1>"));
  EXPECT_TRUE(has(page("index.html"), "Plots need the bundle"));
  EXPECT_TRUE(has(page("problems/copy.html"), "href=\"../attempts/one/copy/s1r2.html\""));
  EXPECT_TRUE(has(page("attempts/one/copy/s1r2.html"), "1.10 of the reference"));
  EXPECT_TRUE(has(page("attempts/two/ring/s1r1.html"), "There is no answer."));
  EXPECT_EQ(attempt_pages(), 3u);
}

// A run of one model at one problem, with the answer on disk.
class AnswerPage : public WriteSite {
 protected:
  std::string page_of(std::string_view answer, record::LineRange judged, const record::Profile& profile = {}) {
    auto run = made_run({"one"}, {"copy"});
    run.folder = scratch_.path("run");
    run.attempts = {profile.empty() ? made_attempt("one", "copy", 1, 1, "wrong")
                                    : made_attempt("one", "copy", 1, 1, "pass", 1.0)};
    run.attempts[0].verdict->judged_lines = judged;
    run.attempts[0].verdict->profile = profile;
    const std::string file =
        record::round_file(run.folder, {.model = "one", .problem = "copy", .sample = 1, .round = 1}, "answer.md");
    fs::create_directories(fs::path(file).parent_path());
    write_file(file, answer);
    write({run});
    return page("attempts/one/copy/s1r1.html");
  }
};

TEST_F(AnswerPage, ShowsTheLinesThatTheVerdictRecorded) {
  // The second block looks more like a solution; the record decides.
  const std::string text =
      page_of("Hello\n\n```\nint judged;\n```\n\n```\nclass Solution {};\n```\nBye\n", {.first = 4, .last = 4});
  EXPECT_LT(text.find("int judged;"), text.find("<section id=\"answer\""));
  EXPECT_GT(text.find("class Solution"), text.find("<section id=\"answer\""));
  EXPECT_TRUE(has(text, "id=\"L4\""));
  EXPECT_TRUE(has(text, "id=\"L8\""));
  EXPECT_TRUE(has(text, "the code that was judged"));
}

TEST_F(AnswerPage, CodeWithoutAFenceIsNotRenderedAsMarkdown) {
  const std::string text = page_of("# define A\nint *a, *b;\n", {.first = 1, .last = 2});
  EXPECT_TRUE(has(text, "int *a, *b;"));
  EXPECT_FALSE(has(text, "<section id=\"answer\""));
  const std::string mixed = page_of("Code:\nint *a, *b;\n**Done**\n", {.first = 2, .last = 2});
  EXPECT_TRUE(has(mixed, "int *a, *b;"));
  EXPECT_TRUE(has(mixed, "<strong>Done</strong>"));
}

TEST_F(AnswerPage, ARecordWithoutLinesMarksNothing) {
  const std::string text = page_of("Hello\n\n```\nclass Solution {};\n```\n", {});
  EXPECT_FALSE(has(text, "<section id=\"code\""));
  EXPECT_FALSE(has(text, "the code that was judged"));
  EXPECT_TRUE(has(text, "id=\"L4\""));
}

// A range that does not belong to the answer: the file was changed later.
TEST_F(AnswerPage, ARangeBeyondTheAnswerMarksNothing) {
  EXPECT_FALSE(has(page_of("Hello\n", {.first = 40, .last = 50}), "<section id=\"code\""));
  EXPECT_TRUE(has(page_of("a;\nb;\n", {.first = 2, .last = 50}), "id=\"L2\""));
}

TEST_F(AnswerPage, AProfileSaysWhereTheTimeGoes) {
  record::KernelProfile kernel{.kernel = "void copy<4>(int*, <b>)", .launches = 3, .warps = 64, .longest_ns = 2000};
  kernel.critical = {{"/build/answer.md", 5, "link", 1200},      {"/build/answer.md", 5, "issue", 200},
                     {"/sdk/cuda/atomic", 70, "flag wait", 500}, {"/build/answer.md", 9, "memory", 60},
                     {"/build/answer.md", 4, "issue", 35},       {"/build/driver.cu", 4, "issue", 5}};
  kernel.all = {{"/build/answer.md", 5, "memory", 3000}, {"/sdk/cuda/atomic", 70, "flag wait", 1000}};
  const std::string answer = "Hello\n\n```\nint a;\n  int b = c[d] & 3;\n```\n";
  const std::string text = page_of(answer, {.first = 4, .last = 5}, {.kernels = {kernel}});
  EXPECT_LT(text.find("<section id=\"profile\""), text.find("<section id=\"code\""));
  EXPECT_TRUE(has(text, "<a href=\"#profile\">"));
  EXPECT_TRUE(has(text, ">copy&lt;4&gt;<small>3 launches, the longest 2.00 µs"));
  EXPECT_FALSE(has(text, "<b>)")) << "a kernel's name stays text";
  // The line of the answer with its code and causes, and others by their names.
  EXPECT_TRUE(has(text, "<a href=\"#L5\">line 5</a></th><td class=\"num\">70%<small>1.40 µs</small>"));
  EXPECT_TRUE(has(text, "<code>int b = c[d] &amp; 3;</code>"));
  EXPECT_TRUE(has(text, "<small>link 60%, issue 10%</small>"));
  EXPECT_TRUE(has(text, "<i class=\"g-link\" style=\"width:60.00%\""));
  EXPECT_TRUE(has(text, "<th scope=\"row\">atomic:70</th><td class=\"num\">25%"));
  EXPECT_TRUE(has(text, "<th scope=\"row\">answer.md:9</th>")) << "not among the judged lines";
  EXPECT_TRUE(has(text, "all 64 warps</th><td></td>"));
  EXPECT_TRUE(has(text, "<small>memory 75%, flag wait 25%</small>"));
  // Groups that occur are explained.
  for (const char* group : {"compute", "memory", "link", "wait"})
    EXPECT_TRUE(has(text, std::string("class=\"key g-") + group + "\"")) << group;
  EXPECT_FALSE(has(text, "class=\"key g-shared\""));
  // Beside the code.
  EXPECT_TRUE(has(text, "data-n=\"5\"></a><i class=\"share\" data-t=\"70%\" style=\"--v:70%\"></i><span>  int b"));
  EXPECT_TRUE(has(text, "data-n=\"4\"></a><i class=\"share\" data-t=\"2%\""));
}

TEST_F(AnswerPage, WithoutAProfileNothingIsSaidAboutTime) {
  const std::string text = page_of("Hello\n\n```\nint a;\n```\n", {.first = 4, .last = 4});
  EXPECT_FALSE(has(text, "<section id=\"profile\""));
  EXPECT_FALSE(has(text, "class=\"share\""));
}

TEST_F(AnswerPage, AProfileOfManyKernelsAndLinesIsCut) {
  record::Profile profile;
  for (int k = 0; k < 6; ++k) {
    record::KernelProfile kernel{.kernel = "kernel_" + std::to_string(k) + "()", .launches = 1, .warps = 1};
    for (uint32_t line = 1; line <= 20; ++line)
      kernel.critical.push_back({"/build/answer.md", line, "issue", 1000.0 + line});
    profile.kernels.push_back(kernel);
  }
  const std::string text = page_of("int a;\n", {.first = 1, .last = 1}, profile);
  EXPECT_TRUE(has(text, ">kernel_3<small>"));
  EXPECT_FALSE(has(text, ">kernel_4<small>"));
  EXPECT_TRUE(has(text, "2 more kernels took less time."));
  EXPECT_TRUE(has(text, "answer.md:13</th>"));
  EXPECT_FALSE(has(text, "answer.md:12</th>"));
  EXPECT_TRUE(has(text, "other lines</th>"));
}

TEST_F(WriteSite, AnEmptyRunHasAPageToo) {
  write({made_run({"one"}, {"copy"})});
  EXPECT_TRUE(has(page("index.html"), "Leaderboard"));
  EXPECT_TRUE(has(page("problems/copy.html"), "not tried"));
}

TEST_F(WriteSite, KeepsToTheLimitOfPagesAndSaysSo) {
  auto run = made_run({"one"}, {"copy"}, 1);
  run.plan.samples = 9;
  for (uint32_t sample = 1; sample <= 9; ++sample)
    run.attempts.push_back(made_attempt("one", "copy", sample, 1, sample == 5 ? "pass" : "wrong",
                                        sample == 5 ? std::optional(1.0) : std::nullopt));
  write({run}, {.attempt_pages = 3});
  EXPECT_EQ(attempt_pages(), 3u);
  for (const char* wanted : {"s1r1", "s5r1", "s9r1"})
    EXPECT_TRUE(fs::exists(folder_ / "attempts/one/copy" / (std::string(wanted) + ".html")));
  EXPECT_TRUE(has(page("index.html"), "of 9 attempts, 3 have a page"));
  EXPECT_FALSE(has(page("problems/copy.html"), "s2r1.html"));
}

TEST_F(WriteSite, ForeignNamesStayTextAndInTheirFolder) {
  auto run = made_run({"one"}, {"../../<b>x"}, 1);
  run.problems = {""};
  run.attempts = {made_attempt("one", "../../<b>x", 1, 1, "wrong")};
  run.attempts[0].verdict->summary = "</p><script>1</script>";
  run.attempts[0].verdict->notes = {"<i>"};
  write({run}, {.title = "<title>"});
  const std::string text = page("attempts/one/~2e.~2f..~2f~3cb~3ex/s1r1.html");
  EXPECT_FALSE(has(text, "<script>1"));
  EXPECT_FALSE(has(text, "<b>x"));
  EXPECT_FALSE(has(text, "<i>"));
  EXPECT_FALSE(has(page("index.html"), "<b>x"));
  EXPECT_TRUE(has(page("index.html"), "<h1>&lt;title&gt;</h1>"));
}

TEST_F(WriteSite, AFolderOfARunIsRefused) {
  fs::create_directories(folder_);
  write_file((folder_ / "campaign.json").string(), "{}");
  const std::vector runs = {made_run({"one"}, {"copy"})};
  EXPECT_FALSE(write_site(*summarise(runs), runs, {}, folder_.string()));
}

TEST_F(WriteSite, WritesTheSameBytesAgain) {
  auto run = made_run({"one"}, {"copy"});
  run.attempts = {made_attempt("one", "copy", 1, 1, "pass", 0.9, 0.3)};
  write({run});
  const std::string first = page("index.html") + page("problems/copy.html") + page("attempts/one/copy/s1r1.html");
  write({run});
  EXPECT_EQ(page("index.html") + page("problems/copy.html") + page("attempts/one/copy/s1r1.html"), first);
}

TEST(SiteWords, FiguresReadWell) {
  using namespace site;
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(time_text(3.4249e-6), "3.42 µs");
  EXPECT_EQ(time_text(0.0123), "12.3 ms");
  EXPECT_EQ(time_text(5400), "90.0 min");
  EXPECT_EQ(bytes_text(1572864), "1.50 MiB");
  EXPECT_EQ(bytes_text(65536), "64 KiB");
  EXPECT_EQ(share_text(0.6249), "62%");
  EXPECT_EQ(usd_text(0.00123), "$0.0012");
  EXPECT_EQ(usd_text(12.345), "$12.35");
  EXPECT_EQ(plural(1, "rank", "ranks"), "1 rank");
  EXPECT_EQ(place_text({.size = "odd", .world = 4, .rank = 1, .call = 2, .schedule = 77}),
            "4 ranks, size odd, call 3, rank 1, schedule 77");
  EXPECT_EQ(place_text({}), "");
}

TEST(SiteWords, EveryOutcomeHasWords) {
  const std::string style = read_file(std::string(FB_SOURCE_DIR) + "/src/campaign/report/web/site.css");
  for (const record::Outcome& outcome : kOutcomes) {
    EXPECT_EQ(site::outcome_words(outcome.name).name, outcome.name);
    EXPECT_NE(style.find(fmt::format(".o-{}", outcome.name)), std::string::npos) << outcome.name << " has no colours";
  }
  EXPECT_EQ(site::outcome_words("new").label, "new");
}

}  // namespace
}  // namespace fb::report
