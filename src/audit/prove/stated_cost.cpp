#include "audit/prove/stated_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fb::prove {
namespace {

constexpr double kTolerance = 0.1;

double stated(const catalog::Expression& cost, const catalog::Problem& problem, const record::Timing& timing) {
  const auto size = std::ranges::find(problem.sizes, timing.size, &catalog::SizeClass::name);
  return static_cast<double>(cost.evaluate(problem.values(*size, timing.world, 0)).value_or(0));
}

std::string compare(const char* what, double says, double counted) {
  const double ratio = says > 0 ? counted / says : counted == 0 ? 1 : INFINITY;
  if (std::abs(ratio - 1) <= kTolerance) return "";
  return fmt::format("{}: stated {:.0f}, counted {:.0f} ({:.3f} of it); ", what, says, counted, ratio);
}

}  // namespace

void MovedBytes::add(const std::vector<record::Timing>& timings) {
  for (const record::Timing& timing : timings) {
    auto size = std::ranges::find(sizes_, timing.size, [](const Size& s) { return s.timing.size; });
    if (size == sizes_.end()) size = sizes_.insert(size, {.timing = timing});
    // The busiest device of two calls together is less busy than those of each.
    if (timing.calls != 1) continue;
    const record::Moved& m = timing.moved;
    size->link_bytes += static_cast<double>(std::max({m.peer_out, m.peer_in, m.to_host, m.from_host}));
    size->memory_bytes += static_cast<double>(m.memory);
    size->network_bytes += static_cast<double>(std::max(m.network_out, m.network_in));
    ++size->counted;
  }
}

const MovedBytes::Size& MovedBytes::largest(const catalog::Problem& problem) const {
  return *std::ranges::max_element(sizes_, {}, [&](const Size& size) {
    return stated(problem.cost.link_bytes, problem, size.timing) +
           stated(problem.cost.network_bytes, problem, size.timing);
  });
}

std::string MovedBytes::difference(const catalog::Problem& problem) const {
  if (sizes_.empty()) return "the reference was not timed";
  const Size& largest = this->largest(problem);
  if (!largest.timing.refusal.empty())
    return fmt::format("size {} of the reference is not extrapolated: {}", largest.timing.size, largest.timing.refusal);
  if (largest.counted == 0) return fmt::format("size {} was not timed alone", largest.timing.size);
  const std::string text = compare("link_bytes", stated(problem.cost.link_bytes, problem, largest.timing),
                                   largest.link_bytes / largest.counted) +
                           compare("memory_bytes", stated(problem.cost.memory_bytes, problem, largest.timing),
                                   largest.memory_bytes / largest.counted) +
                           compare("network_bytes", stated(problem.cost.network_bytes, problem, largest.timing),
                                   largest.network_bytes / largest.counted);
  if (text.empty()) return "";
  return fmt::format("{}size {} on {} ranks, mean of {} calls", text, largest.timing.size, largest.timing.world,
                     largest.counted);
}

}  // namespace fb::prove
