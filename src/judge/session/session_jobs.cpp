#include "judge/session/session_jobs.h"

#include <malloc.h>

#include <charconv>
#include <limits>

#include "common/base/jobs.h"
#include "common/base/strings.h"

namespace fb::judge {
namespace {

// How many processes the kernel has killed since it started because memory was short; -1: it does not say.
int64_t killed_for_memory() {
  constexpr std::string_view kKey = "\noom_kill ";
  std::string text;
  try {
    text = read_file("/proc/vmstat");
  } catch (const std::exception&) {
    return -1;
  }
  const size_t at = text.find(kKey);
  int64_t count = -1;
  if (at != std::string::npos) std::from_chars(text.data() + at + kKey.size(), text.data() + text.size(), count);
  return count;
}

// A session makes and frees the data of one call after the other. Memory that went back to the kernel each time would
// have to be cleared each time.
void keep_freed_memory() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

SessionOutcome run_watched(const SessionRequest& request) {
  const int64_t before = killed_for_memory();
  SessionOutcome outcome = run_session(request);
  if (outcome.in_doubt && killed_for_memory() > before) {
    const char* text = "the kernel ended a process of the session because this computer's memory was short";
    outcome.finding = Ruling{.verdict = record::VerdictClass::infra, .summary = text, .explanation = {}};
    outcome.finding->explanation = std::string(text) + "\n";
  }
  return outcome;
}

void add_processor_seconds(const SessionRequest& request, const SessionOutcome& outcome) {
  if (request.processor_seconds == nullptr) return;
  for (const auto& [part, seconds] : outcome.processor_seconds) (*request.processor_seconds)[part] += seconds;
}

// The sessions up to the first finding that are still to be run, or to be run again.
std::vector<size_t> without_outcome(const std::vector<std::string>& texts) {
  std::vector<size_t> left;
  for (size_t k = 0; k < texts.size(); ++k) {
    const auto outcome = parse_outcome(texts[k]);
    if (is_failure_of_ours(outcome)) {
      left.push_back(k);
    } else if (outcome->finding) {
      break;
    }
  }
  return left;
}

}  // namespace

std::vector<std::string> run_sessions(const std::vector<SessionRequest>& requests, size_t side_by_side,
                                      const std::function<void()>& on_end) {
  std::vector<std::string> texts(requests.size());
  for (int tried = 1; tried <= kTries; ++tried) {
    const std::vector<size_t> left = without_outcome(texts);
    if (left.empty()) break;
    auto fresh = run_jobs(
        left.size(), side_by_side,
        [&](size_t k) {
          keep_freed_memory();
          return to_json(run_watched(requests[left[k]]));
        },
        [&](size_t k, const std::string& text) {
          const auto outcome = parse_outcome(text);
          if (outcome) add_processor_seconds(requests[left[k]], *outcome);
          if (tried < kTries && is_failure_of_ours(outcome)) return false;
          if (on_end) on_end();
          return !outcome || outcome->finding.has_value();
        });
    for (size_t k = 0; k < left.size(); ++k) texts[left[k]] = std::move(fresh[k]);
  }
  bool found = false;  // what comes after does not count
  for (std::string& text : texts) {
    if (found) text.clear();
    const auto outcome = parse_outcome(text);
    found = found || !outcome || outcome->finding.has_value();
  }
  return texts;
}

}  // namespace fb::judge
