#pragma once

// What a judgement tries: sessions, each a machine with its ranks, in which size classes follow each other. A pure
// function of problem, thoroughness and seed, so that a judgement can be replayed.
//
// In each session steps ordered by virtual time and steps ordered at random follow each other in a drawn order; races
// are looked for in all of them, and all calls are compared. Sizes that are timed are as large as real ones: they, and
// the samples that stand for sizes which are too large to run, have one session of the largest world, in which races
// are looked for in a part of the memory only. The calls that are timed are among others there, at drawn places. So a
// candidate can't tell from what it has seen whether its next call is timed, or which line is looked at.

#include <cstdint>
#include <string>
#include <vector>

#include "common/wire/harness.h"
#include "judge/catalog/problem.h"

namespace fb::judge {

enum class Thoroughness : uint8_t {
  quick,
  full,
  times,        // only what is timed: for references, which were proven before
  times_alone,  // the same, and no call follows back to back: the bytes that it moves are its own
  // One schedule, by virtual time: the baseline against which other schedules and checkers are measured.
  ordinary,        // every world and size
  ordinary_quick,  // the first session of quick
};

// Calls back to back: each begins as soon as the one before has returned, rank by rank.
struct CallStep {
  uint32_t calls = 1;
  bool timed = false;  // the first of them; it begins at the same time on all ranks
  wire::StepOrder order = {};
};

// One instance of the candidate: constructed, called, destroyed.
struct Phase {
  const catalog::SizeClass* size = nullptr;
  wire::StepOrder set_up = {}, tear_down = {};
  std::vector<CallStep> steps = {};
  uint64_t seed = 0;  // of its inputs

  uint32_t calls() const;
  bool is_timed() const;
};

struct SessionPlan {
  int world = 1;
  uint64_t schedule = 0;  // seed of what is drawn in the machine; 0: nothing is, all steps are ordered by virtual time
  uint64_t fresh_memory = 0;  // seed of what memory holds before it is written; 0: zeros
  bool strict = false;        // accesses wider than the problem's atomic_bytes may tear
  bool looks_for_races = true;
  uint32_t one_piece_in = 1;  // races between weak accesses are looked for in one of so many pieces of memory
  std::vector<Phase> phases = {};
};

// Sessions of each world in a full check; a quick one has as many, of one world.
inline constexpr uint32_t kSessions = 2;
// `schedules`: so many sessions of each world; 0: as many as usual.
std::vector<SessionPlan> make_plan(const catalog::Problem& problem, Thoroughness thoroughness, uint64_t seed,
                                   uint32_t schedules = 0);

// The world whose times are the score: the largest.
int timed_world(const catalog::Problem& problem);

}  // namespace fb::judge
