#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "campaign/prompts/capped_text.h"
#include "campaign/prompts/prompt.h"
#include "campaign/prompts/prompt_files.h"
#include "campaign/prompts/quoted_lines.h"
#include "common/base/strings.h"
#include "common/record/answer_file.h"
#include "judge/catalog/markers.h"
#include "judge/catalog/source.h"

namespace fb::prompts {
namespace {

using record::Attempt;
using record::Verdict;
using record::VerdictClass;

constexpr size_t kMostMentions = 8;

// Paths of the judge's host mean nothing to a model: "/opt/…/include/cuda/atomic" is <cuda/atomic>.
std::string without_folders(std::string_view text) {
  constexpr std::string_view kInclude = "/include/";
  std::string out;
  size_t at = 0;
  for (size_t k = 0; k < text.size(); ++k) {
    const bool begins = text[k] == '/' && (k == 0 || std::string_view(" \n'\"(").contains(text[k - 1]));
    if (!begins) continue;
    const size_t end = std::min(text.find_first_of(" \n:'\"", k), text.size());
    const size_t include = text.substr(0, end).rfind(kInclude);
    if (include == std::string_view::npos || include < k) continue;
    out += text.substr(at, k - at);
    at = include + kInclude.size();
    k = end - 1;
  }
  return out += text.substr(at);
}

// Not the number of the schedule, which comes from the seed.
std::string describe_place(const record::FailureLocation& place) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (place.world > 0) add(fmt::format("{} rank{}", place.world, place.world == 1 ? "" : "s"));
  if (!place.size.empty()) add(fmt::format("size {}", place.size));
  if (place.call >= 0) add(fmt::format("call {}", place.call + 1));
  if (place.rank >= 0) add(fmt::format("rank {}", place.rank));
  if (place.world > 0 && place.schedule != 0) add("events in an order drawn at random");
  return text;
}

// Summary and explanation as one text; the explanation often begins with the summary.
std::string verdict_text(const Verdict& verdict) {
  std::string text(trim(verdict.explanation));
  if (!text.starts_with(verdict.summary)) text = verdict.summary + "\n" + text;
  for (const std::string& note : verdict.notes) text += "\nNote: " + note;
  return printable(without_folders(trim(text))) + "\n";
}

// The judge found no code to compile: its messages about answers name no file (judge/answer/answer.h).
bool is_not_code(const Verdict& verdict) {
  if (verdict.verdict != VerdictClass::compile_error) return false;
  const std::string_view text = verdict.explanation.empty() ? verdict.summary : verdict.explanation;
  const auto mentions = mentions_in(text.substr(0, text.find('\n')));
  if (!mentions.empty()) return mentions.front().file.empty();
  return text.starts_with("the answer ") || text.starts_with("the region ") || text.contains("code blocks define");
}

std::string quote_places(const catalog::Problem& problem, std::string_view text, std::string_view answer) {
  std::map<std::string, std::vector<uint32_t>> lines;  // by title; "your answer" comes last but is what matters most
  size_t count = 0;
  for (const auto& [file, line] : mentions_in(text)) {
    const bool given = file == "driver.cu" || file == "template.cu";
    if (file == "entry.cu" || file.ends_with(".h") || file.ends_with(".hpp") || ++count > kMostMentions) continue;
    lines[given ? file : "your answer"].push_back(line);
  }
  const auto shown = catalog::make_template(problem);
  std::string quoted;
  const auto add = [&](const std::string& title, std::string_view source) {
    const std::string part = lines.contains(title) ? quote_lines(source, lines[title]) : "";
    if (!part.empty()) quoted += fmt::format("{}{}:\n{}", quoted.empty() ? "" : "\n", title, part);
  };
  add("your answer", answer);
  if (!problem.driver.empty()) add("driver.cu", problem.driver);
  if (shown) add("template.cu", *shown);
  return printable(quoted);
}

std::string time_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.2f} us", seconds * 1e6) : fmt::format("{:.3f} ms", seconds * 1e3);
}

std::string timings_table(const Verdict& verdict) {
  if (verdict.timings.empty()) return "";
  const bool baseline = std::ranges::any_of(verdict.timings, [](const auto& t) { return t.baseline_seconds > 0; });
  std::string text = fmt::format("| size | ranks | your time | {} | speed | limit |\n|---|---|---|---|---|---|\n",
                                 baseline ? "the baseline's time" : "expert's time");
  for (const auto& t : verdict.timings) {
    const bool compared = t.speed() > 0;
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} |\n", t.size, t.world, time_text(t.seconds),
                    compared ? time_text(t.yardstick_seconds()) : "", compared ? fmt::format("{:.2f}", t.speed()) : "",
                    t.limit_seconds > 0 ? time_text(t.limit_seconds) : "");
  }
  bool first = true;
  for (const auto& t : verdict.timings) {
    if (t.refusal.empty()) continue;
    text += fmt::format("{}- {}: figures are those of {} = {}, because {}.\n", std::exchange(first, false) ? "\n" : "",
                        t.size, t.scale, t.samples.back().value, t.refusal);
  }
  for (const auto& t : verdict.timings) {
    if (t.bound.empty()) continue;
    text += fmt::format("{}- {}: {}.\n", std::exchange(first, false) ? "\n" : "", t.size, t.bound);
  }
  return text;
}

// The three lines that cost most, of the warp that ended last.
std::string costliest_lines(const Verdict& verdict) {
  if (verdict.profile.empty()) return "";
  constexpr size_t kLines = 3;
  const record::KernelProfile& kernel = verdict.profile.kernels.front();
  const auto lines = record::by_line(kernel.critical);
  double whole = 0;
  for (const record::ProfileLine& l : lines) whole += l.nanoseconds;
  std::string text;
  size_t count = 0;
  for (const record::ProfileLine& l : lines) {
    if (l.line == 0 || !record::is_answer_file(l.file)) continue;
    if (++count > kLines) break;
    const auto& [cause, nanoseconds] = l.causes.front();
    text += fmt::format("- line {}: {:.0f} % of the time, most of it {} ({})\n", l.line, 100 * l.nanoseconds / whole,
                        cause, record::meaning_of(cause));
  }
  if (text.empty()) return "";
  return fmt::format("\nWhere the time of {} goes, by lines of your answer (of the warp that ended last):\n{}",
                     kernel.kernel, text);
}

Result<std::string> speed_prompt(const Verdict& verdict, size_t limit) {
  Values values = {{"speed", verdict.speed ? fmt::format("{:.2f}", *verdict.speed) : ""}, {"timings", ""}};
  const auto frame = fill_prompt_file("speed.md", values);
  if (!frame) return std::unexpected(frame.error());
  const std::string table = timings_table(verdict) + costliest_lines(verdict);
  constexpr size_t kRemark = 200;  // the text around the table
  values["timings"] = trim(cap_lines(table, limit > frame->size() + kRemark ? limit - frame->size() - kRemark : 0));
  auto text = fill_prompt_file("speed.md", values);
  if (text) *text += '\n';
  return text;
}

Result<std::string> failure_prompt(const catalog::Problem& problem, const Attempt& attempt, std::string_view answer,
                                   size_t limit) {
  const std::string outcome(record::outcome(attempt));
  const std::string advice_file = attempt.verdict && is_not_code(*attempt.verdict) ? "not_code" : outcome;
  const auto advice = fill_prompt_file(fmt::format("feedback/{}.md", advice_file), {});
  if (!advice) return std::unexpected(advice.error());
  Values values = {{"outcome", outcome}, {"place", ""}, {"text", ""}, {"lines", ""}, {"advice", *advice}};
  if (attempt.verdict) values["place"] = describe_place(attempt.verdict->location);
  const auto frame = fill_prompt_file("feedback.md", values);
  if (!frame || !attempt.verdict) return frame;

  const std::string text = verdict_text(*attempt.verdict), lines = quote_places(problem, text, answer);
  for (size_t room = limit > frame->size() ? limit - frame->size() : 0; room > 0;) {
    // The judge's text gets two thirds of the room, or what the quoted lines leave.
    const std::string capped = cap_parts(text, std::max(room * 2 / 3, room - std::min(room, lines.size())));
    const std::string quoted = cap_lines(lines, room - std::min(room, capped.size()));
    values["text"] = capped.empty() ? "" : fenced(capped, "text");
    values["lines"] = quoted.empty() ? "" : fenced(quoted, "text");
    auto filled = fill_prompt_file("feedback.md", values);
    if (!filled || filled->size() < limit) return filled;
    room -= std::min(room, filled->size() + 1 - limit);  // headings and fences take room too
  }
  return frame;
}

}  // namespace

Result<std::string> feedback_prompt(const catalog::Problem& problem, const Attempt& attempt, std::string_view answer,
                                    const Options& options, bool for_speed) {
  if (attempt.passed() && !for_speed) return error("the attempt passed: there is nothing to feed back");
  auto text = attempt.passed() ? speed_prompt(*attempt.verdict, options.feedback_limit)
                               : failure_prompt(problem, attempt, answer, options.feedback_limit);
  if (!text) return text;
  if (!text->ends_with('\n')) *text += '\n';
  if (text->size() > options.feedback_limit) {
    return error(fmt::format("the limit of feedback is {} bytes; what is always said takes {}", options.feedback_limit,
                             text->size()));
  }
  return text;
}

}  // namespace fb::prompts
