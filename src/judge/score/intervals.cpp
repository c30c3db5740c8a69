#include "judge/score/intervals.h"

#include <algorithm>
#include <cmath>

namespace fb::judge {
namespace {

using platform::ByGroup;
using record::Range;
using record::Timing;

bool is_measured(const Timing& t) { return t.seconds > 0 && t.sensitivity.size() == platform::kGroups.size(); }

Range around(double value, double error) { return {value * std::exp(-error), value * std::exp(error)}; }

// Where the time is extrapolated: how far from the line it may be.
Range widened(Range range, const Timing& t) {
  if (!t.line_range.known()) return range;
  return {range.low * t.line_range.low / t.seconds, range.high * t.line_range.high / t.seconds};
}
// The same of a speed: a long time of the candidate is a low one. Where one of the two was not extrapolated, both are
// compared at a sample, and no line is in their speed.
Range widened_speed(Range range, const Timing& candidate, const Timing& yardstick) {
  if (candidate.yardstick_seconds() > 0 && candidate.yardstick_seconds() != yardstick.seconds) return range;
  Range found = widened(range, yardstick);
  if (candidate.line_range.known()) {
    found.low *= candidate.seconds / candidate.line_range.high;
    found.high *= candidate.seconds / candidate.line_range.low;
  }
  return found;
}

}  // namespace

const Timing* same_call(const std::vector<Timing>& timings, const Timing& t) {
  const auto found =
      std::ranges::find_if(timings, [&](const Timing& r) { return r.size == t.size && r.world == t.world; });
  return found == timings.end() ? nullptr : &*found;
}

ByGroup elasticities(const Timing& timing) {
  ByGroup by_group{};
  for (size_t g = 0; g < platform::kGroups.size(); ++g)
    by_group[g] = timing.sensitivity.at(std::string(name_of(platform::kGroups[g])));
  return by_group;
}

std::map<std::string, double> sensitivity_of(const wire::GroupShares& shares, uint64_t time) {
  // What else a time may consist of without harm to its interval: sleep of a host, moments that were forgotten.
  constexpr double kUnknown = 0.02;
  double known = 0;
  std::map<std::string, double> found;
  for (size_t g = 0; g < platform::kGroups.size(); ++g) {
    const double share = static_cast<double>(shares[g]) / static_cast<double>(time);
    if (platform::kGroups[g] != platform::Group::in_flight) known += share;
    found[std::string(name_of(platform::kGroups[g]))] = share;
  }
  if (time == 0 || known < 1 - kUnknown) return {};
  return found;
}

double relative_error(const ByGroup& elasticities, const ByGroup& uncertainties) {
  double sum = 0;
  for (size_t g = 0; g < elasticities.size(); ++g) sum += std::pow(elasticities[g] * uncertainties[g], 2);
  return std::sqrt(sum);
}

void add_elasticities(std::vector<Timing>& timings, const std::vector<SlowerRun>& runs) {
  for (Timing& t : timings) {
    if (t.seconds <= 0) continue;
    for (const platform::Group group : platform::kGroups) {
      double products = 0, squares = 0;
      for (const SlowerRun& run : runs) {
        const Timing* slower = run.group == group ? same_call(run.timings, t) : nullptr;
        if (slower == nullptr || slower->seconds <= 0) continue;
        products += (run.factor - 1) * (slower->seconds / t.seconds - 1);
        squares += (run.factor - 1) * (run.factor - 1);
      }
      if (squares > 0) t.sensitivity[std::string(name_of(group))] = products / squares;
    }
  }
}

void add_intervals(record::Verdict& verdict, const std::vector<Timing>& yardstick, const platform::Platform& platform) {
  const ByGroup uncertain = platform::uncertainties(platform);
  ByGroup sum{};  // of differences
  double speeds = 0, compared = 0;
  for (Timing& t : verdict.timings) {
    if (t.speed() > 0) ++speeds;
    if (!is_measured(t)) continue;
    const ByGroup own = elasticities(t);
    t.range = widened(around(t.seconds, relative_error(own, uncertain)), t);
    const Timing* of_yardstick = same_call(yardstick, t);
    if (of_yardstick == nullptr || !is_measured(*of_yardstick)) continue;
    ByGroup difference = elasticities(*of_yardstick);
    for (size_t g = 0; g < own.size(); ++g) {
      difference[g] -= own[g];
      sum[g] += difference[g];
    }
    const double speed = t.speed() > 0 ? t.speed() : of_yardstick->seconds / t.seconds;
    t.speed_range = widened_speed(around(speed, relative_error(difference, uncertain)), t, *of_yardstick);
    ++compared;
  }
  // The verdict's speed is a mean over sizes; an error that makes one size too fast may make another too slow.
  if (!verdict.speed || compared == 0 || compared < speeds) return;
  for (double& s : sum) s /= compared;
  verdict.speed_range = around(*verdict.speed, relative_error(sum, uncertain));
}

}  // namespace fb::judge
