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

// Nobody can have used up the processor time of a rank earlier.
constexpr double kLongComputation = 10;

const Incident* find(const record::RunRecord& record, std::string_view kind) {
  const auto found = std::ranges::find(record.incidents, kind, &Incident::kind);
  return found == record.incidents.end() ? nullptr : &*found;
}

// The rank that the machine lost first; without its report, the one that ended by itself first.
const record::RankEnd* first_to_fall(const record::RunRecord& record) {
  const Incident* lost = find(record, "rank_lost");
  const record::RankEnd* first = nullptr;
  for (const auto& end : record.ranks) {
    if (lost != nullptr && lost->rank == end.rank) return &end;
    if (end.ended || (end.signal == 0 && end.exit_code == 0)) continue;
    if (first == nullptr || end.seconds < first->seconds) first = &end;
  }
  return first;
}

Finding by_incident(VerdictClass verdict, const Incident* incident, const std::string& otherwise) {
  Finding finding{.verdict = verdict};
  const std::string text = incident ? incident->text : otherwise;
  finding.summary = first_line(text);
  finding.explanation = text + (text.ends_with('\n') ? "" : "\n");
  if (incident && incident->rank) finding.place.rank = *incident->rank;
  return finding;
}

// Processor time or wall time: which is used up first depends on the load of the computer.
Finding out_of_time(const std::string& step) {
  Finding finding{.verdict = VerdictClass::budget};
  finding.summary = fmt::format("time was up in {}", step);
  finding.explanation =
      finding.summary +
      ".\nLook at: host code that computes or polls without end, sleeps, or waits for what never comes.\n";
  return finding;
}

// Where several ranks do the same, which of them is seen first is a matter of real time: the text names none, the place
// does.
Finding of_signal(const record::RankEnd& end, const std::string& step) {
  Finding finding{.verdict = VerdictClass::fault};
  finding.place.rank = end.rank;
  const char* name = sigabbrev_np(end.signal);
  const char* advice = "Look at: host code that touches device memory or memory that is not its own.";
  // Whoever does not heed SIGXCPU is killed a second later.
  const bool used_up = end.signal == SIGXCPU || (end.signal == SIGKILL && end.seconds > kLongComputation);
  if (end.signal == SIGSYS) {
    finding.verdict = VerdictClass::rule_violation;
    finding.summary = fmt::format("a rank made a system call that is not allowed, in {}", step);
    advice = "Candidates may not start processes or programs, open network sockets, trace, mount or change namespaces.";
  } else if (used_up) {
    finding = out_of_time(step);
    finding.place.rank = end.rank;
    return finding;
  } else {
    finding.summary = fmt::format("a rank was ended by SIG{} in {}", name ? name : "?", step);
  }
  finding.explanation = fmt::format("{}.\n{}\n", finding.summary, advice);
  return finding;
}

Finding of_rank(const launcher::LaunchResult& result, const std::string& step) {
  const record::RankEnd* end = first_to_fall(result.record);
  if (end != nullptr && end->signal != 0 && !end->ended) return of_signal(*end, step);
  Finding finding{.verdict = VerdictClass::fault};
  finding.summary = fmt::format("a rank left in {}", step);
  finding.explanation =
      finding.summary + ".\nA rank may not end by itself: it returns from run() and is called again.\n";
  if (end != nullptr) finding.place.rank = end->rank;
  return finding;
}

Finding of_exception(const launcher::LaunchResult& result, const std::string& step) {
  const Incident* incident = find(result.record, "failed");
  if (incident == nullptr) return of_rank(result, step);
  const bool memory = incident->text.find("bad_alloc") != std::string::npos;
  Finding finding = by_incident(memory ? VerdictClass::budget : VerdictClass::fault, incident, {});
  // "rank 2: run, call 3 threw: …": the rank is in the place.
  for (std::string* text : {&finding.summary, &finding.explanation}) {
    if (const size_t colon = text->find(": "); text->starts_with("rank ") && colon != std::string::npos)
      text->erase(0, colon + 2);
  }
  return finding;
}

Finding of_ending(const launcher::LaunchResult& result, const std::string& step) {
  const auto& record = result.record;
  // What came after a fault came of it.
  if (const Incident* fault = find(record, "fault")) return by_incident(VerdictClass::fault, fault, {});
  switch (record.ending) {
    case Ending::fault:
      return by_incident(VerdictClass::fault, find(record, "fault"), "a kernel's fault");
    case Ending::race:
      return by_incident(VerdictClass::race, find(record, "race"), "a race");
    case Ending::deadlock:
      return by_incident(VerdictClass::deadlock, find(record, "deadlock"), "deadlock");
    case Ending::budget:
      return by_incident(VerdictClass::budget, find(record, "budget"), result.problem);
    case Ending::out_of_memory:
      return by_incident(VerdictClass::budget, find(record, "out_of_memory"), result.problem);
    case Ending::timeout:
      return out_of_time(step);
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

// For people only: nothing is read out of it. Our own lines tell what is said already.
std::string quote_output(const launcher::LaunchResult& result, size_t rank) {
  if (rank >= result.output_tail.size()) return {};
  std::string text;
  for (const std::string_view line : split(result.output_tail[rank], '\n')) {
    if (!trim(line).empty() && !line.starts_with("fabricbench")) text += fmt::format("  {}\n", line);
  }
  return text.empty() ? text : "The last that it wrote:\n" + text;
}

}  // namespace

std::optional<Finding> finding_of(const launcher::LaunchResult& result, const record::Place& place,
                                  const std::string& step) {
  if (result.record.ending == Ending::finished && find(result.record, "fault") == nullptr) return std::nullopt;
  Finding finding = of_ending(result, step);
  const int rank = finding.place.rank;
  finding.place = place;
  if (rank >= 0) finding.place.rank = rank;
  if (rank >= 0) finding.explanation += quote_output(result, static_cast<size_t>(rank));
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
