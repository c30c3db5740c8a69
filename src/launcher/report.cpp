#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <map>

#include "base/strings.h"
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
