#include "judge/score/score.h"

#include <algorithm>
#include <cmath>

namespace fb::judge {
namespace {

double value_of(const catalog::Expression& expression, const catalog::Problem& problem, const catalog::SizeClass& size,
                int world) {
  return static_cast<double>(expression.evaluate(problem.values(size, world, 0)).value_or(0));
}

double network_seconds(const catalog::Expression& bytes, const catalog::Problem& problem,
                       const catalog::SizeClass& size, int world, const platform::Platform& platform) {
  return platform.nic.per_node > 0 ? value_of(bytes, problem, size, world) / platform.nic.bandwidth : 0;
}

}  // namespace

record::Peaks peaks_of(const platform::Platform& platform) {
  // A product and a sum are two operations.
  const double flops = 2.0 * platform.tensor.products * platform.device.sms * platform.device.clock;
  return {.link_bytes_per_second = platform.peer.copy_bandwidth,
          .memory_bytes_per_second = platform.memory.bandwidth,
          .network_bytes_per_second = platform.nic.per_node > 0 ? platform.nic.bandwidth : 0,
          .tensor_flops_per_second = flops};
}

double floor_seconds(const catalog::Problem& problem, const catalog::SizeClass& size, int world,
                     const platform::Platform& platform) {
  const double links = value_of(problem.cost.least_link_bytes, problem, size, world) / platform.peer.copy_bandwidth;
  return std::max(links, network_seconds(problem.cost.least_network_bytes, problem, size, world, platform));
}

double limit_seconds(const catalog::Problem& problem, const catalog::SizeClass& size, int world,
                     const platform::Platform& platform) {
  const record::Peaks peaks = peaks_of(platform);
  const double links = value_of(problem.cost.link_bytes, problem, size, world) / peaks.link_bytes_per_second;
  const double memory = value_of(problem.cost.memory_bytes, problem, size, world) / peaks.memory_bytes_per_second;
  constexpr double kSecond = 1e12;  // in picoseconds
  const double hops = value_of(problem.cost.hops, problem, size, world) * static_cast<double>(platform.peer.latency);
  const double network = network_seconds(problem.cost.network_bytes, problem, size, world, platform);
  const double messages = value_of(problem.cost.network_hops, problem, size, world) *
                          static_cast<double>(platform::least_crossing(platform));
  const auto& kernel = platform.kernel;
  const auto launch = static_cast<double>(std::min(kernel.launch, kernel.graph_launch) + kernel.end);
  const double products = value_of(problem.cost.tensor_flops, problem, size, world) / peaks.tensor_flops_per_second;
  const double longest = std::max({links, memory, network, hops / kSecond, messages / kSecond, products});
  // What goes through network cards alone needs no kernel.
  const bool needs_kernel = value_of(problem.cost.memory_bytes, problem, size, world) > 0;
  return (needs_kernel ? launch / kSecond : 0) + longest;
}

void score(record::Verdict& verdict) {
  double speed = 0, sol = 0;
  int speeds = 0, sols = 0;
  for (const auto& t : verdict.timings) {
    if (t.seconds <= 0) continue;
    if (t.yardstick_seconds() > 0) {
      speed += std::log(t.speed());
      ++speeds;
    }
    if (t.limit_seconds > 0) {
      sol += std::log(t.limit_seconds / t.seconds);
      ++sols;
    }
  }
  if (speeds > 0) verdict.speed = std::exp(speed / speeds);
  if (sols > 0) verdict.sol = std::exp(sol / sols);
}

}  // namespace fb::judge
