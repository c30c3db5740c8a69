#include "judge/session/plan.h"

#include <algorithm>
#include <utility>

#include "common/base/hash.h"
#include "common/base/rng.h"
#include "common/record/run_options.h"

namespace fb::judge {
namespace {

using catalog::Problem;
using catalog::SizeClass;
using wire::StepOrder;
using wire::StepSchedule;

constexpr int kWidestAccess = 16;  // bytes of the widest store of a thread that is one on hardware

// At timed sizes races are looked for in one of so many pieces of memory (virtual_node/race/shadow/looked_at.h). A
// missing fence or flag leaves many pieces unordered, so that it shows in a sixteenth of them as well.
constexpr uint32_t kOnePieceIn = 16;

constexpr StepOrder kUndisturbed = {.schedule = StepSchedule::by_time, .seed = 0};
constexpr StepOrder kTimed = {.schedule = StepSchedule::by_time, .wants_shares = 1, .seed = 0};

// Draws the steps of one phase. What is timed comes from a stream of its own, so that the timed calls of a judgement
// are the same in all its sessions that have them.
class PhaseDraw {
 public:
  PhaseDraw(uint64_t seed, uint64_t timed_seed) : rng_(seed), timed_(timed_seed) {}

  // Large calls at random would take several times as long.
  StepOrder any_order(bool large = false) { return large || coin(rng_) ? by_time() : drawn(); }

  // A small size: calls in both orders.
  std::vector<CallStep> small() {
    std::vector<CallStep> steps = {{.calls = from_to(rng_, 1, 2), .order = by_time()},
                                   {.calls = from_to(rng_, 2, 3), .order = drawn()}};
    if (coin(rng_)) std::swap(steps[0], steps[1]);
    return steps;
  }

  // A larger size: the calls that show what is left of the call before. At random they would take several times as
  // long.
  std::vector<CallStep> large() { return {{.calls = 2, .order = by_time()}}; }

  // The first call is never timed, because a candidate may prepare itself there.
  std::vector<CallStep> timed(const SizeClass& size) {
    const bool sample = !size.scale.empty();
    std::vector<CallStep> steps = {{.calls = sample ? few() : from_to(rng_, 1, 2), .order = any_order(sample)},
                                   timed_step(size)};
    if (!sample && coin(rng_)) steps.push_back({.calls = 1, .order = any_order()});
    return steps;
  }

  // Alone, or followed by another call back to back. A sample, of which there are three and more, is alone.
  CallStep timed_step(const SizeClass& size) {
    return {.calls = size.scale.empty() ? from_to(timed_, 1, 2) : 1, .timed = true, .order = kTimed};
  }

 private:
  // Mostly 1: samples are large.
  uint32_t few() { return rng_.below(3) == 0 ? 2 : 1; }
  static bool coin(Rng& rng) { return rng.below(2) != 0; }
  static uint32_t from_to(Rng& rng, uint32_t least, uint32_t most) {
    return least + static_cast<uint32_t>(rng.below(most - least + 1));
  }
  StepOrder by_time() { return {.schedule = StepSchedule::by_time, .seed = rng_.next() | 1}; }
  StepOrder drawn() { return {.schedule = StepSchedule::drawn, .seed = rng_.next() | 1}; }

  Rng rng_, timed_;
};

struct SessionKind {
  int world = 1;
  uint64_t number = 0;  // of its world
  uint64_t of = 1;      // how many sessions share the sizes that are not quick
  bool quick_only = false;
};

// Sizes that are not timed.
SessionPlan make_session(const Problem& problem, const SessionKind& kind, uint64_t seed) {
  const auto world = static_cast<uint64_t>(kind.world);
  SessionPlan session{.world = kind.world,
                      .schedule = mix(seed, {world, kind.number}) | 1,
                      .fresh_memory = mix(seed, {world, kind.number, 0xf7e5}) | 1,
                      .strict = kind.number % kSessions == 1 && problem.atomic_bytes < kWidestAccess};
  for (size_t k = 0; k < problem.sizes.size(); ++k) {
    const SizeClass& size = problem.sizes[k];
    const bool mine = size.quick || (!kind.quick_only && !size.timed && k % kind.of == kind.number % kind.of);
    if (!mine) continue;
    const uint64_t phase_seed = mix(seed, {world, kind.number, k});
    PhaseDraw draw(mix(phase_seed, 0x57e95), 0);
    Phase phase{.size = &size, .seed = phase_seed};
    phase.set_up = draw.any_order();
    phase.tear_down = draw.any_order();
    phase.steps = size.quick ? draw.small() : draw.large();
    session.phases.push_back(std::move(phase));
  }
  if (session.strict) {
    // The order of the pieces alternates over the worlds and over further sessions of a world.
    const auto index = static_cast<uint64_t>(std::ranges::find(problem.worlds, kind.world) - problem.worlds.begin());
    session.schedule &= ~record::kHighPieceFirst;
    if ((index + kind.number / kSessions) % 2 != 0) session.schedule |= record::kHighPieceFirst;
  }
  return session;
}

// f(size, its number) for each size that is timed, with the samples in place of those that are too large to run. All
// samples of a size have its number, so that what is drawn for one is drawn for all.
template <class F>
void each_timed(const Problem& problem, F f) {
  for (size_t k = 0; k < problem.sizes.size(); ++k) {
    const SizeClass& size = problem.sizes[k];
    if (!size.timed) continue;
    if (!size.is_sampled()) f(size, uint64_t{k});
    for (const SizeClass& sample : size.samples) f(sample, uint64_t{k});
  }
}

// Sizes that are timed, in a drawn order.
SessionPlan make_timed_session(const Problem& problem, uint64_t seed) {
  const int world = timed_world(problem);
  const auto wide = static_cast<uint64_t>(world);
  constexpr uint64_t kNumber = 0x71e5;
  SessionPlan session{.world = world,
                      .schedule = mix(seed, {wide, kNumber}) | 1,
                      .fresh_memory = mix(seed, {wide, kNumber, 0xf7e5}) | 1,
                      .one_piece_in = kOnePieceIn};
  each_timed(problem, [&](const SizeClass& size, uint64_t k) {
    const uint64_t phase_seed = mix(seed, {wide, kNumber, k});
    PhaseDraw draw(mix(phase_seed, 0x57e95), mix(seed, {wide, k, kNumber}));
    Phase phase{.size = &size, .seed = phase_seed};
    phase.set_up = draw.any_order();
    phase.tear_down = draw.any_order();
    phase.steps = draw.timed(size);
    session.phases.push_back(std::move(phase));
  });
  Rng order(mix(seed, {wide, kNumber, 0x04de4}));
  for (size_t k = session.phases.size(); k > 1; --k) std::swap(session.phases[k - 1], session.phases[order.below(k)]);
  return session;
}

// By virtual time, and nothing is drawn.
SessionPlan make_ordinary(const Problem& problem, int world, uint64_t seed, bool quick_only) {
  constexpr uint32_t kCalls = 3;
  SessionPlan session{.world = world, .looks_for_races = false};
  const auto add = [&](const SizeClass& size, uint64_t k, std::vector<CallStep> steps) {
    session.phases.push_back({.size = &size,
                              .set_up = kUndisturbed,
                              .tear_down = kUndisturbed,
                              .steps = std::move(steps),
                              .seed = mix(seed, {static_cast<uint64_t>(world), 0, k})});
  };
  for (size_t k = 0; k < problem.sizes.size(); ++k) {
    const SizeClass& size = problem.sizes[k];
    if (quick_only ? size.quick : !size.timed) add(size, k, {{.calls = kCalls, .order = kUndisturbed}});
  }
  if (quick_only || world != timed_world(problem)) return session;
  each_timed(problem, [&](const SizeClass& size, uint64_t k) {
    add(size, k, {{.calls = 1, .order = kUndisturbed}, {.timed = true, .order = kTimed}});
  });
  return session;
}

// The timed calls as the full check has them, behind one that is not timed.
SessionPlan make_times(const Problem& problem, uint64_t seed, bool alone) {
  const int world = timed_world(problem);
  const auto wide = static_cast<uint64_t>(world);
  SessionPlan session{.world = world, .fresh_memory = mix(seed, 0xf7e5) | 1, .looks_for_races = false};
  each_timed(problem, [&](const SizeClass& size, uint64_t k) {
    PhaseDraw draw(0, mix(seed, {wide, k, 0x71e5}));
    CallStep timed = draw.timed_step(size);
    if (alone) timed.calls = 1;
    session.phases.push_back({.size = &size,
                              .set_up = kUndisturbed,
                              .tear_down = kUndisturbed,
                              .steps = {{.calls = 1, .order = kUndisturbed}, timed},
                              .seed = mix(seed, {wide, 0, k})});
  });
  return session;
}

}  // namespace

uint32_t Phase::calls() const {
  uint32_t sum = 0;
  for (const CallStep& step : steps) sum += step.calls;
  return sum;
}

bool Phase::is_timed() const { return std::ranges::any_of(steps, &CallStep::timed); }

int timed_world(const Problem& problem) { return std::ranges::max(problem.worlds); }

std::vector<SessionPlan> make_plan(const Problem& problem, Thoroughness thoroughness, uint64_t seed,
                                   uint32_t schedules) {
  std::vector<SessionPlan> plan;
  const uint32_t sessions = schedules == 0 ? kSessions : schedules;
  switch (thoroughness) {
    case Thoroughness::ordinary_quick:
      plan.push_back(make_ordinary(problem, problem.worlds.front(), seed, true));
      break;
    case Thoroughness::ordinary:
      for (const int world : problem.worlds) plan.push_back(make_ordinary(problem, world, seed, false));
      break;
    case Thoroughness::times:
    case Thoroughness::times_alone:
      plan.push_back(make_times(problem, seed, thoroughness == Thoroughness::times_alone));
      break;
    case Thoroughness::quick:
      for (uint64_t k = 0; k < sessions; ++k)
        plan.push_back(make_session(problem, {.world = problem.worlds.front(), .number = k, .quick_only = true}, seed));
      break;
    case Thoroughness::full: {
      // Where stores tear, all pairs of accesses are looked at: for small sizes only.
      const bool tears = problem.atomic_bytes < kWidestAccess;
      for (const int world : problem.worlds) {
        for (uint64_t k = 0; k < sessions; ++k) {
          const SessionKind kind = {
              .world = world, .number = k, .of = tears ? 1 : std::min<uint64_t>(sessions, kSessions)};
          if (SessionPlan session = make_session(problem, kind, seed); !session.phases.empty())
            plan.push_back(std::move(session));
        }
      }
      plan.push_back(make_timed_session(problem, seed));
      break;
    }
  }
  return plan;
}

}  // namespace fb::judge
