#include "judge/endings.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>

#include "base/strings.h"

namespace fb::judge {
namespace {

using record::Ending;
using record::Incident;
using record::VerdictClass;

std::string first_line(std::string_view text) {
  text = trim(text);
  const size_t end = text.find('\n');
  return std::string(trim(text.substr(0, end)));
}

const Incident* find(const record::RunRecord& record, std::string_view kind) {
  const auto found = std::ranges::find(record.incidents, kind, &Incident::kind);
  return found == record.incidents.end() ? nullptr : &*found;
}

// The rank that ended by itself first.
const record::RankEnd* first_to_fall(const record::RunRecord& record) {
  const record::RankEnd* first = nullptr;
  for (const auto& end : record.ranks) {
    if (end.ended || (end.signal == 0 && end.exit_code == 0)) continue;
    if (first == nullptr || end.seconds < first->seconds) first = &end;
  }
  return first;
}

Finding by_incident(VerdictClass verdict, const Incident* incident, std::string otherwise) {
  Finding finding{.verdict = verdict};
  const std::string text = incident ? incident->text : otherwise;
  finding.summary = first_line(text);
  finding.explanation = text + (text.ends_with('\n') ? "" : "\n");
  if (incident && incident->rank) finding.place.rank = *incident->rank;
  return finding;
}

Finding of_signal(const record::RankEnd& end, const std::string& step) {
  Finding finding{.verdict = VerdictClass::fault};
  finding.place.rank = end.rank;
  const char* name = sigabbrev_np(end.signal);
  switch (end.signal) {
    case SIGSYS:
      finding.verdict = VerdictClass::rule_violation;
      finding.summary = fmt::format("rank {} made a system call that is not allowed", end.rank);
      finding.explanation =
          finding.summary + fmt::format(
                                " in {}.\nCandidates may not start processes or programs, open network sockets, "
                                "trace, mount or change namespaces.\n",
                                step);
      break;
    case SIGXCPU:
      finding.verdict = VerdictClass::budget;
      finding.summary = fmt::format("rank {} used up its processor time in {}", end.rank, step);
      finding.explanation =
          finding.summary + ".\nLook at: loops on the host that wait for memory to change, or never end.\n";
      break;
    default:
      finding.summary = fmt::format("rank {} was ended by SIG{} in {}", end.rank, name ? name : "?", step);
      finding.explanation =
          finding.summary + ".\nLook at: host code that touches device memory or memory that is not its own.\n";
  }
  return finding;
}

Finding of_rank(const launcher::LaunchResult& result, const std::string& step) {
  const auto& record = result.record;
  const record::RankEnd* end = first_to_fall(record);
  if (end != nullptr && end->signal != 0) return of_signal(*end, step);
  Finding finding = by_incident(VerdictClass::fault, find(record, "rank_lost"), result.problem);
  if (end != nullptr && end->rank >= 0) finding.place.rank = end->rank;
  finding.explanation += "A rank may not end by itself: it returns from run() and is called again.\n";
  return finding;
}

Finding of_exception(const launcher::LaunchResult& result, const std::string& step) {
  const Incident* incident = find(result.record, "failed");
  if (incident == nullptr) return of_rank(result, step);
  const bool memory = incident->text.find("bad_alloc") != std::string::npos;
  return by_incident(memory ? VerdictClass::budget : VerdictClass::fault, incident, {});
}

Finding of_ending(const launcher::LaunchResult& result, const std::string& step) {
  const auto& record = result.record;
  // What came after a fault came of it.
  if (const Incident* fault = find(record, "fault")) return by_incident(VerdictClass::fault, fault, {});
  switch (record.ending) {
    case Ending::fault:
      return by_incident(VerdictClass::fault, find(record, "fault"), "a kernel's fault");
    case Ending::deadlock:
      return by_incident(VerdictClass::deadlock, find(record, "deadlock"), "deadlock");
    case Ending::budget:
      return by_incident(VerdictClass::budget, find(record, "budget"), result.problem);
    case Ending::out_of_memory:
      return by_incident(VerdictClass::budget, find(record, "out_of_memory"), result.problem);
    case Ending::timeout:
      return by_incident(VerdictClass::budget, nullptr,
                         fmt::format("{}, in {}.\nLook at: host code that sleeps, or waits for what never comes.",
                                     result.problem, step));
    case Ending::bad_message:
      return by_incident(VerdictClass::cheat, find(record, "bad_message"), result.problem);
    case Ending::rank_lost:
      return of_rank(result, step);
    case Ending::failed:
      return of_exception(result, step);
    case Ending::interrupted:
      return by_incident(VerdictClass::infra, nullptr, result.problem);
    case Ending::finished:
    case Ending::machine_lost:
      break;
  }
  return by_incident(VerdictClass::infra, nullptr, result.problem.empty() ? "the machine was lost" : result.problem);
}

}  // namespace

std::optional<Finding> finding_of(const launcher::LaunchResult& result, const record::Place& place,
                                  const std::string& step) {
  if (result.record.ending == Ending::finished && find(result.record, "fault") == nullptr) return std::nullopt;
  Finding finding = of_ending(result, step);
  const int rank = finding.place.rank;
  finding.place = place;
  if (rank >= 0) finding.place.rank = rank;
  // For people only: nothing is read out of it.
  const auto tail = static_cast<size_t>(std::max(finding.place.rank, 0));
  if (finding.place.rank >= 0 && tail < result.output_tail.size() && !trim(result.output_tail[tail]).empty())
    finding.explanation += fmt::format("The last that rank {} wrote:\n{}\n", tail, trim(result.output_tail[tail]));
  // What we do not have is not the candidate's mistake.
  if (finding.verdict != VerdictClass::cheat && !result.record.unsupported_calls.empty()) {
    finding.verdict = VerdictClass::unsupported;
    finding.explanation += "Calls that the virtual node does not support:";
    for (const auto& [call, count] : result.record.unsupported_calls) finding.explanation += " " + call;
    finding.explanation += "\n";
  }
  return finding;
}

}  // namespace fb::judge
