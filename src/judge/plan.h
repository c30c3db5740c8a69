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
};

// One instance of the candidate: constructed, called, destroyed.
struct Phase {
  const catalog::SizeClass* size = nullptr;
  uint32_t burst = 0;  // calls back to back
  uint32_t timed = 0;  // calls one by one afterwards, each timed
  uint64_t seed = 0;   // of its inputs
};

struct Session {
  int world = 1;
  uint64_t schedule = 0;  // 0: by virtual time, and times count; else drawn at random
  bool strict = false;    // 16-byte accesses may tear
  std::vector<Phase> phases = {};
};

std::vector<Session> make_plan(const catalog::Problem& problem, Thoroughness thoroughness, uint64_t seed);

// The world whose times are the score: the largest.
int timed_world(const catalog::Problem& problem);

}  // namespace fb::judge
