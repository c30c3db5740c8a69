#include "judge/session/endings.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>

#include "common/base/strings.h"
#include "common/base/text_limits.h"

namespace fb::judge {
namespace {

using record::Ending;
using record::Incident;
using record::VerdictClass;

// A rank cannot have used up its processor time earlier than this.
constexpr double kLongComputation = 10;

const Incident* find(const record::RunRecord& record, record::IncidentKind kind) {
  const auto found = std::ranges::find(record.incidents, kind, &Incident::kind);
  return found == record.incidents.end() ? nullptr : &*found;
}

// The incident that explains the ending. A fault comes first: other incidents follow from it.
const Incident* deciding_incident(const record::RunRecord& record) {
  if (const Incident* fault = find(record, record::IncidentKind::fault)) return fault;
  if (record.ending == Ending::finished) return nullptr;
  const auto found = std::ranges::find_if(
      record.incidents, [&](const Incident& incident) { return record::ending_of(incident.kind) == record.ending; });
  return found == record.incidents.end() ? nullptr : &*found;
}

// The rank that the machine lost first; without its report, the one that ended by itself first.
const record::RankEnd* first_to_fall(const record::RunRecord& record) {
  const Incident* lost = find(record, record::IncidentKind::rank_lost);
  const record::RankEnd* first = nullptr;
  for (const auto& end : record.ranks) {
    if (lost != nullptr && lost->rank == end.rank) return &end;
    if (end.ended || (end.signal == 0 && end.exit_code == 0)) continue;
    if (first == nullptr || end.seconds < first->seconds) first = &end;
  }
  return first;
}

Ruling make_ruling(VerdictClass verdict, const std::string& text, std::optional<int> rank = {}) {
  Ruling ruling{.verdict = verdict};
  ruling.summary = first_line(text);
  ruling.explanation = text + (text.ends_with('\n') ? "" : "\n");
  if (rank) ruling.location.rank = *rank;
  return ruling;
}

// Processor time or wall time: which is used up first depends on the load of the computer.
Ruling out_of_time(const std::string& step) {
  Ruling finding{.verdict = VerdictClass::budget};
  finding.summary = fmt::format("time was up in {}", step);
  finding.explanation =
      finding.summary +
      ".\nLook at: host code that computes or polls without end, sleeps, or waits for what never comes.\n";
  return finding;
}

// Where several ranks fail alike, which of them is seen first depends on real time: the text names none, the location
// does.
Ruling of_signal(const record::RankEnd& end, const std::string& step) {
  Ruling finding{.verdict = VerdictClass::fault};
  finding.location.rank = end.rank;
  const char* name = sigabbrev_np(end.signal);
  const char* advice = "Look at: host code that touches device memory or memory that is not its own.";
  // A process that ignores SIGXCPU is killed a second later.
  const bool used_up = end.signal == SIGXCPU || (end.signal == SIGKILL && end.seconds > kLongComputation);
  if (end.signal == SIGSYS) {
    finding.verdict = VerdictClass::rule_violation;
    finding.summary = fmt::format("a rank made a system call that is not allowed, in {}", step);
    advice = "Candidates may not start processes or programs, open network sockets, trace, mount or change namespaces.";
  } else if (used_up) {
    finding = out_of_time(step);
    finding.location.rank = end.rank;
    return finding;
  } else {
    finding.summary = fmt::format("a rank was ended by SIG{} in {}", name ? name : "?", step);
  }
  finding.explanation = fmt::format("{}.\n{}\n", finding.summary, advice);
  return finding;
}

Ruling of_rank(const launcher::LaunchResult& result, const std::string& step) {
  const record::RankEnd* end = first_to_fall(result.record);
  if (end != nullptr && end->signal != 0 && !end->ended) return of_signal(*end, step);
  Ruling finding{.verdict = VerdictClass::fault};
  finding.summary = fmt::format("a rank left in {}", step);
  finding.explanation =
      finding.summary + ".\nA rank may not end by itself: it returns from run() and is called again.\n";
  if (end != nullptr) finding.location.rank = end->rank;
  return finding;
}

Ruling of_ending(const launcher::LaunchResult& result, const std::string& step) {
  const Ending ending = result.record.ending;
  const Incident* incident = deciding_incident(result.record);
  // How the process ended says more than the machine's incident.
  if (ending == Ending::rank_lost && (incident == nullptr || incident->kind == record::IncidentKind::rank_lost))
    return of_rank(result, step);
  if (incident != nullptr) return make_ruling(verdict_of(*incident), incident->text, incident->rank);
  if (ending == Ending::failed) return of_rank(result, step);
  if (ending == Ending::timeout) return out_of_time(step);
  const std::string text = result.problem.empty() ? std::string(to_string(ending)) : result.problem;
  const VerdictClass verdict = verdict_of(ending);
  return make_ruling(verdict == VerdictClass::pass ? VerdictClass::infra : verdict, text);
}

// For people only: nothing is read out of it. Lines of our own programs repeat the summary and are left out.
std::string quote_output(const launcher::LaunchResult& result, size_t rank) {
  if (rank >= result.output_tail.size()) return {};
  std::string text;
  for (const std::string_view line : split(result.output_tail[rank], '\n')) {
    if (!trim(line).empty() && !line.starts_with("fabricbench")) text += fmt::format("  {}\n", line);
  }
  return text.empty() ? text : "The last that it wrote:\n" + text;
}

// An exception ended the run, and its text is about the error of a call that the virtual node lacks.
bool gave_up_for_it(const record::RunRecord& record) {
  const Incident* incident = deciding_incident(record);
  if (incident == nullptr || incident->reason != record::IncidentReason::rank_threw) return false;
  const auto says = [&](std::string_view words) { return incident->text.find(words) != std::string::npos; };
  return says("not supported") || says("NotSupported") || says("NOT_SUPPORTED") || says("801") ||
         std::ranges::any_of(record.unsupported_calls, [&](const auto& call) { return says(call.first); });
}

// A line for each, and how many were left out.
std::string indented_list(const std::vector<std::string>& texts, size_t usual) {
  const size_t shown = std::min(texts.size(), at_most(usual));
  std::string list;
  for (size_t k = 0; k < shown; ++k) list += fmt::format("  {}\n", texts[k]);
  if (texts.size() > shown) list += fmt::format("  and {} more\n", texts.size() - shown);
  return list;
}

}  // namespace

std::string failed_calls(const record::RunRecord& record) {
  constexpr size_t kShown = 8;
  std::vector<std::string> calls;
  for (const auto& [call, processes] : record.failed_calls) calls.push_back(call);
  return calls.empty() ? "" : "Calls that failed, and after which the code went on:\n" + indented_list(calls, kShown);
}

std::string old_reads(const record::RunRecord& record) {
  constexpr size_t kShown = 3;
  if (record.old_reads.empty()) return {};
  return "Before that, nothing ordered a load behind a store, and it returned older bytes:\n" +
         indented_list(record.old_reads, kShown) +
         "Look at: a release (st.release, or a fence before the store of the flag) where the data is published, and an "
         "acquire where the flag is read; `volatile` and relaxed accesses order nothing.\n";
}

std::optional<Ruling> finding_of(const launcher::LaunchResult& result, const record::FailureLocation& location,
                                 const std::string& step) {
  if (result.record.ending == Ending::finished && find(result.record, record::IncidentKind::fault) == nullptr)
    return std::nullopt;
  Ruling finding = of_ending(result, step);
  const int rank = finding.location.rank;
  finding.location = location;
  if (rank >= 0) finding.location.rank = rank;
  if (rank >= 0) finding.explanation += quote_output(result, static_cast<size_t>(rank));
  if (!result.record.unsupported_calls.empty()) {
    // Ours to fix only where the candidate gave up because of it. Code that goes on without the call is judged by what
    // it does then.
    if (gave_up_for_it(result.record)) finding.verdict = VerdictClass::unsupported;
    finding.explanation += "Calls that the virtual node does not support:";
    for (const auto& [call, count] : result.record.unsupported_calls) finding.explanation += " " + call;
    finding.explanation += "\n";
  }
  return finding;
}

bool may_have_been_killed(const launcher::LaunchResult& result) {
  return std::ranges::any_of(result.record.ranks, [](const record::RankEnd& end) {
    if (end.ended) return false;  // by the launcher
    if (end.signal == SIGKILL) return end.seconds <= kLongComputation;
    return end.signal == SIGTERM || end.signal == SIGINT || end.signal == SIGHUP;
  });
}

}  // namespace fb::judge
