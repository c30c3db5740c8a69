#include "judge/score/extrapolation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fb::judge {
namespace {

using record::SamplePoint;
using record::Timing;

double slope(const SamplePoint& from, const SamplePoint& to) {
  return (to.seconds - from.seconds) / static_cast<double>(to.value - from.value);
}

// "12.3 us at 1048576, 20.1 us at 2097152"
std::string listed(const std::vector<SamplePoint>& points) {
  std::string text;
  for (const SamplePoint& p : points)
    text += fmt::format("{}{:.4g} us at {}", text.empty() ? "" : ", ", p.seconds * 1e6, p.value);
  return text;
}

// On the line through two points.
double on_line(const SamplePoint& first, double at_first, const SamplePoint& last, double at_last, int64_t value) {
  const double slope = (at_last - at_first) / static_cast<double>(last.value - first.value);
  return std::max(0.0, at_last + slope * static_cast<double>(value - last.value));
}

Timing merged(const std::vector<Timing>& samples, int64_t value) {
  const Timing &least = samples.front(), &most = samples.back();
  Timing all = most;
  all.scale_value = value;
  all.samples.clear();
  for (const Timing& one : samples) {
    all.samples.push_back(one.samples.front());
    all.samples.back().moved = one.moved;
    all.samples.back().sensitivity = one.sensitivity;
  }
  const auto found = extrapolate(all.samples, static_cast<double>(value));
  if (!found) {
    use_largest_sample(all, found.error().list.front().message);
    return all;
  }
  all.seconds = found->seconds;
  all.line_range = found->range;
  const SamplePoint &first = all.samples.front(), &last = all.samples.back();
  for (const auto of :
       {&record::Moved::peer_out, &record::Moved::peer_in, &record::Moved::to_host, &record::Moved::from_host,
        &record::Moved::memory, &record::Moved::network_out, &record::Moved::network_in})
    all.moved.*of = static_cast<uint64_t>(
        on_line(first, static_cast<double>(least.moved.*of), last, static_cast<double>(most.moved.*of), value));
  for (auto& [group, share] : all.sensitivity) {
    const auto of_least = least.sensitivity.find(group);
    if (of_least == least.sensitivity.end()) continue;
    share = on_line(first, of_least->second * least.seconds, last, share * most.seconds, value) / all.seconds;
  }
  return all;
}

}  // namespace

Result<Extrapolated> extrapolate(const std::vector<SamplePoint>& points, double value) {
  const SamplePoint &first = points.front(), &last = points.back();
  const double by = slope(first, last), width = static_cast<double>(last.value - first.value);
  const double further = value - static_cast<double>(last.value);
  double off = 0;
  for (const SamplePoint& p : points)
    off = std::max(off, std::fabs(p.seconds - first.seconds - by * static_cast<double>(p.value - first.value)));
  // The first and the last may be off as much, in opposite directions.
  const double error_there = off + 2 * off * further / width;
  const double seconds = last.seconds + by * further;
  const double grows = by * static_cast<double>(last.value);
  if (grows < (1 - kLargestConstantPart) * last.seconds)
    return error(fmt::format("{:.0f} % of the time at the largest sample do not grow with the size ({})",
                             100 * (1 - std::max(0.0, grows) / last.seconds), listed(points)));
  if (error_there > kWidestDeviation * seconds)
    return error(fmt::format("the times of the samples are not on a line ({}): it may be off by {:.0f} %",
                             listed(points), 100 * error_there / seconds));
  return Extrapolated{.seconds = seconds, .range = {seconds - error_there, seconds + error_there}};
}

void use_largest_sample(Timing& timing, std::string why) {
  const SamplePoint& largest = timing.samples.back();
  timing.seconds = largest.seconds;
  timing.moved = largest.moved;
  if (!largest.sensitivity.empty()) timing.sensitivity = largest.sensitivity;
  timing.line_range = {};
  timing.refusal = std::move(why);
}

std::pair<double, double> comparable_seconds(const Timing& one, const Timing& other) {
  if (one.refusal.empty() && other.refusal.empty()) return {one.seconds, other.seconds};
  return {one.samples.back().seconds, other.samples.back().seconds};
}

void merge_samples(const catalog::Problem& problem, std::vector<Timing>& timings) {
  std::vector<Timing> all;
  for (const catalog::SizeClass& size : problem.sizes) {
    std::vector<Timing> found;
    for (const Timing& t : timings) {
      if (t.size == size.name) found.push_back(t);
    }
    if (!size.is_sampled() || found.size() < size.samples.size()) {
      all.insert(all.end(), found.begin(), found.end());
      continue;
    }
    std::ranges::sort(found, {}, [](const Timing& t) { return t.samples.front().value; });
    all.push_back(merged(found, size.values.at(size.scale)));
  }
  timings = std::move(all);
}

}  // namespace fb::judge
