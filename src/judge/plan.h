#pragma once

// What a judgement tries: sessions, each a machine with its ranks, in which size classes follow each other. A pure
// function of problem, thoroughness and seed, so that a judgement can be replayed.

#include <cstdint>
#include <string>
#include <vector>

#include "catalog/problem.h"

namespace fb::judge {

enum class Thoroughness : uint8_t {
  quick,
  full,
  times,  // only what is timed: for references, which were proven before
  // One schedule, by virtual time: the baseline against which other schedules and checkers are measured.
  ordinary,        // every world and size
  ordinary_quick,  // the first session of quick
};

// One instance of the candidate: constructed, called, destroyed.
struct Phase {
  const catalog::SizeClass* size = nullptr;
  uint32_t burst = 0;  // calls back to back
  uint32_t timed = 0;  // calls one by one afterwards, each timed
  uint64_t seed = 0;   // of its inputs
};

struct SessionPlan {
  int world = 1;
  uint64_t schedule = 0;  // 0: by virtual time, and times count; else drawn at random
  bool strict = false;    // 16-byte accesses may tear
  std::vector<Phase> phases = {};
};

// Schedules of each world that are drawn at random, and checked for races, in a full check; in a quick one it is one.
inline constexpr uint32_t kSchedules = 2;
// `schedules`: so many instead; 0: as many as usual.
std::vector<SessionPlan> make_plan(const catalog::Problem& problem, Thoroughness thoroughness, uint64_t seed,
                                   uint32_t schedules = 0);

// The world whose times are the score: the largest.
int timed_world(const catalog::Problem& problem);

}  // namespace fb::judge
