#include "judge/session/trace_labels.h"

#include <fmt/format.h>

#include <cmath>

#include "common/record/trace.h"

namespace fb::judge {
namespace {

// Behind all devices.
constexpr uint32_t kJudge = 1000;

uint64_t picoseconds(double seconds) { return static_cast<uint64_t>(std::llround(seconds * 1e12)); }

// " (n = 1048576)": the call stands for a size that is too large to run.
std::string sample_text(const record::Timing& call) {
  if (call.samples.empty()) return {};
  return fmt::format(" ({} = {})", call.scale, call.samples.front().value);
}

}  // namespace

void label_timed_calls(const std::string& file, const std::vector<record::Timing>& traced,
                       const std::vector<record::Timing>& timings) {
  record::Trace labels;
  labels.name_process(kJudge, "verdict");
  labels.name_thread(kJudge, 0, "timed calls");
  for (const auto& call : traced) {
    for (const auto& t : timings) {
      if (t.size != call.size || t.world != call.world) continue;
      labels.add_span(kJudge, 0, fmt::format("size {}{}: {}", t.size, sample_text(call), t.bound),
                      picoseconds(call.begin_seconds), picoseconds(call.begin_seconds + call.seconds),
                      {{"microseconds", t.seconds * 1e6},
                       {"at_least_us", t.range.low * 1e6},
                       {"at_most_us", t.range.high * 1e6},
                       {"speed", t.speed()},
                       {"speed_at_least", t.speed_range.low},
                       {"speed_at_most", t.speed_range.high},
                       {"sol", t.seconds > 0 ? t.limit_seconds / t.seconds : 0},
                       {"bound", t.bound},
                       {"link_use", t.link_use},
                       {"memory_use", t.memory_use},
                       {"link_out_bytes", t.moved.peer_out},
                       {"link_in_bytes", t.moved.peer_in},
                       {"memory_bytes", t.moved.memory}});
    }
  }
  labels.append_to(file);
}

}  // namespace fb::judge
