#include "judge/plan.h"

#include <algorithm>

#include "base/hash.h"

namespace fb::judge {
namespace {

constexpr uint32_t kBurst = 3, kLargeBurst = 2;

SessionPlan make_session(const catalog::Problem& problem, int world, uint64_t schedule, uint64_t seed, auto wanted) {
  SessionPlan session{.world = world, .schedule = schedule};
  const bool by_time = schedule == 0;
  for (size_t k = 0; k < problem.sizes.size(); ++k) {
    const auto& size = problem.sizes[k];
    if (!wanted(size)) continue;
    // Sizes that are timed are large: fewer calls do.
    session.phases.push_back({.size = &size,
                              .burst = size.timed ? kLargeBurst : kBurst,
                              .timed = by_time && size.timed && world == timed_world(problem) ? 1u : 0u,
                              .seed = mix(seed, {static_cast<uint64_t>(world), schedule, k})});
  }
  return session;
}

}  // namespace

int timed_world(const catalog::Problem& problem) { return std::ranges::max(problem.worlds); }

std::vector<SessionPlan> make_plan(const catalog::Problem& problem, Thoroughness thoroughness, uint64_t seed,
                                   uint32_t schedules) {
  std::vector<SessionPlan> plan;
  const auto any = [](const catalog::SizeClass&) { return true; };
  const auto quick = [](const catalog::SizeClass& size) { return size.quick; };
  const auto schedule = [&](int world, uint64_t k) { return mix(seed, {static_cast<uint64_t>(world), k}) | 1; };
  if (thoroughness == Thoroughness::quick || thoroughness == Thoroughness::ordinary_quick) {
    const int world = problem.worlds.front();
    plan.push_back(make_session(problem, world, 0, seed, quick));
    if (thoroughness == Thoroughness::ordinary_quick) return plan;
    for (uint64_t k = 0; k < (schedules == 0 ? 1 : schedules); ++k)
      plan.push_back(make_session(problem, world, schedule(world, k), seed, quick));
    return plan;
  }
  if (thoroughness == Thoroughness::times) {
    plan.push_back(make_session(problem, timed_world(problem), 0, seed, [](const auto& size) { return size.timed; }));
    return plan;
  }
  for (const int world : problem.worlds) {
    plan.push_back(make_session(problem, world, 0, seed, any));
    if (thoroughness == Thoroughness::ordinary) continue;
    for (uint64_t k = 0; k < (schedules == 0 ? kSchedules : schedules); ++k)
      plan.push_back(make_session(problem, world, schedule(world, k), seed, quick));
  }
  return plan;
}

}  // namespace fb::judge
