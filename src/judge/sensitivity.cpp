#include "judge/sensitivity.h"

#include <fmt/format.h>

#include <stdexcept>

#include "judge/score/intervals.h"
#include "judge/session/session_jobs.h"

namespace fb::judge {

Result<Sensitivities> measure_again(const SessionRequest& timed, const std::vector<double>& factors,
                                    size_t side_by_side) {
  std::vector<SessionRequest> wanted;
  Sensitivities found;
  for (const platform::Group group : platform::kGroups) {
    for (const double factor : factors) {
      found.slower.push_back({.group = group, .factor = factor});
      wanted.push_back(timed);
      wanted.back().slower = fmt::format("{}={}", name_of(group), factor);
      wanted.back().trace.clear();
      wanted.back().profile = false;
    }
  }
  if (!timed.trace.empty()) {
    wanted.push_back(timed);
    wanted.back().profile = false;
  }
  if (timed.profile) {
    wanted.push_back(timed);
    wanted.back().trace.clear();
  }
  const auto texts = run_sessions(wanted, side_by_side);
  for (size_t k = 0; k < texts.size(); ++k) {
    auto outcome = parse_outcome(texts[k]);
    if (!outcome) throw std::runtime_error("a session in which sensitivities are measured was lost");
    const std::string where = wanted[k].slower.empty() ? "" : fmt::format(" with {}", wanted[k].slower);
    if (outcome->finding && outcome->finding->verdict == record::VerdictClass::infra)
      throw std::runtime_error(outcome->finding->summary);
    if (outcome->finding)
      return error(fmt::format("{}{}: {}", to_string(outcome->finding->verdict), where, outcome->finding->summary));
    for (const auto& [phase, seconds] : outcome->wall_seconds) found.wall_seconds[phase] += seconds;
    if (k < found.slower.size()) {
      found.slower[k].timings = std::move(outcome->timings);
    } else if (wanted[k].profile) {
      found.profile = std::move(outcome->profile);
    } else {
      found.traced = std::move(outcome->timings);
    }
  }
  return found;
}

}  // namespace fb::judge
