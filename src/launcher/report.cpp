#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <map>

#include "common/base/strings.h"
#include "launcher/launch.h"
#include "launcher/snippet.h"

namespace fb::launcher {
namespace {

std::string how_it_ended(const record::RankEnd& end) {
  if (end.ended) return "ended by the launcher";
  if (end.signal == 0) return fmt::format("exited with {}", end.exit_code);
  return fmt::format("ended by SIG{} ({})", sigabbrev_np(end.signal), sigdescr_np(end.signal));
}

// "0-3, 5": ranks in order, runs joined.
std::string join(const std::vector<int>& ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ranks[i]);
    if (last > i) text += fmt::format("{}{}", last == i + 1 ? ", " : "-", ranks[last]);
    i = last + 1;
  }
  return text;
}

// "1,234 accesses"
std::string many(uint64_t number, std::string_view one, std::string_view several) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return fmt::format("{} {}", digits, number == 1 ? one : several);
}

// Races, deadlocks, faults and what else counts against the program.
uint64_t findings_of(const record::RunRecord& record) {
  const auto is_finding = [](const record::Incident& i) {
    return !i.finding.empty() || (i.fatal && verdict_of(i) != record::VerdictClass::pass);
  };
  return static_cast<uint64_t>(std::ranges::count_if(record.incidents, is_finding)) + record.further_findings;
}

// Of findings how many there were.
std::string problem_of(const LaunchResult& result) {
  const auto is_finding = [](const record::Incident& i) { return !i.finding.empty(); };
  const auto findings = static_cast<uint64_t>(std::ranges::count_if(result.record.incidents, is_finding));
  if (findings == 0) return result.problem;
  std::string text = count_of(findings, "report") + ", see above";
  if (result.record.further_findings != 0)
    text += fmt::format("; {} at the same lines or of the same cause",
                        count_of(result.record.further_findings, "further finding"));
  constexpr std::string_view kSaid = "see above";
  if (!result.problem.empty() && result.problem != kSaid) text += "; " + result.problem;
  return text;
}

}  // namespace

std::string describe(const LaunchResult& result) {
  if (result.exit_code == 0) return "";
  std::string text = fmt::format("fabricbench: {}: {}\n", to_string(result.record.ending), problem_of(result));
  std::map<std::string, std::vector<int>> groups;
  for (const auto& end : result.record.ranks) {
    if (end.rank >= 0) groups[how_it_ended(end)].push_back(end.rank);
  }
  for (const auto& [how, ranks] : groups) {
    text += fmt::format("fabricbench:   {} {}: {}\n", ranks.size() == 1 ? "rank" : "ranks", join(ranks), how);
  }
  const bool aborted = std::ranges::any_of(result.record.ranks, [](const auto& end) { return end.signal == SIGABRT; });
  if (aborted && result.rank_memory != 0) {
    text += fmt::format("fabricbench:   each rank may have {} MiB of private memory (--rank-memory)\n",
                        result.rank_memory >> 20);
  }
  return text;
}

bool checked_nothing(const record::Checked& counts, const LaunchResult& last) {
  return last.record.options.check && last.exit_code == 0 && !counts.any();
}

std::string closing_line(const std::string& schedules, const record::Checked& counts, const LaunchResult& last) {
  if (checked_nothing(counts, last)) {
    std::string text = counts.launches == 0 && counts.ignored_errors == 0
                           ? "nothing was checked: no kernel was launched"
                           : "nothing was checked: no kernel ran to its end";
    if (counts.copies != 0)
      text += fmt::format(" (there were {})", many(counts.copies, "copy or fill", "copies and fills"));
    return text;
  }
  std::string text = fmt::format("{}, {}", schedules, many(counts.kernels, "kernel", "kernels"));
  if (counts.library_operations != 0)
    text += ", " + many(counts.library_operations, "library operation", "library operations");
  // Without the race detector there is nothing to count, and what may be found are wrong ends alone.
  if (!last.record.options.check)
    return text + (last.exit_code == 0 ? ": every run ended well (--check looks for races)" : ": the last run failed");
  text += fmt::format(", {} checked: ", many(counts.accesses, "access", "accesses"));
  const uint64_t findings = findings_of(last.record);
  text += many(findings, "finding", "findings");
  // A search that ran out of time ends with an exit code of its own.
  if (findings == 0 && last.exit_code != 0 && last.record.ending != record::Ending::finished)
    text += last.record.ending == record::Ending::failed
                ? ", but the program failed"
                : fmt::format(", but the run ended so: {}", to_string(last.record.ending));
  if (counts.ignored_errors != 0)
    text += fmt::format(" (note: {} ignored)", many(counts.ignored_errors, "error", "errors"));
  return text;
}

std::string text_of(const record::Incident& incident) {
  return fmt::format("fabricbench: {}: {}\n{}", to_string(incident.kind), trim(incident.text), snippet_of(incident));
}

std::string transcript(const LaunchResult& result) {
  std::string text;
  for (size_t k = 0; k < result.output_tail.size(); ++k) {
    const int rank = k < result.record.ranks.size() ? result.record.ranks[k].rank : -1;
    for (const std::string_view line : split(trim(result.output_tail[k]), '\n')) {
      if (!line.empty()) text += rank < 0 ? fmt::format("{}\n", line) : fmt::format("[rank {}] {}\n", rank, line);
    }
  }
  for (const record::Incident& incident : result.record.incidents) text += text_of(incident);
  return text;
}

}  // namespace fb::launcher
