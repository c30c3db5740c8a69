#pragma once

// One program under many schedules: drawn at random, or all up to a bound on preemptions.
//
// Exhaustive: a depth-first search. A run follows a list of choices and takes alternative 0 beyond its end; its record
// has the alternatives of every choice. The next list increments the last choice that has an alternative left, so no
// schedule is run twice. Switching away from a warp that could continue is a preemption, and their number is bounded;
// switching away from a blocked warp is free.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/record/run_record.h"
#include "launcher/launch.h"

namespace fb::launcher {

// The list to try after a run; none: that was the last one.
std::optional<std::vector<uint32_t>> next_choices(const std::vector<record::Choice>& taken, uint32_t preemptions);

struct ExploreLimits {
  uint64_t schedules = 1;
  std::optional<std::chrono::milliseconds> time = {};  // for all runs together
};

struct Explored {
  enum class End : uint8_t {
    all,         // every schedule was run
    found,       // the last one went wrong
    limit,       // of their number
    time,        // is up
    nothing,     // ran that could have been checked, and it was to be
    unrepeated,  // the program did not do the same again: nothing can be said about all schedules
  };
  End end = End::all;
  uint64_t schedules = 0;       // that were run
  record::Checked counts = {};  // of all of them
  LaunchRequest request = {};   // of the last run
  LaunchResult last = {};
};

// Runs the program once. The first run says what it has to say; later ones are silent.
using RunOnce = std::function<Result<LaunchResult>(const LaunchRequest&)>;

// Seeds 1, 2, …; until something goes wrong.
Result<Explored> explore_seeds(LaunchRequest request, const ExploreLimits& limits, const RunOnce& run);
// All schedules with so many preemptions; until something goes wrong.
Result<Explored> explore_all(LaunchRequest request, uint32_t preemptions, const ExploreLimits& limits,
                             const RunOnce& run);

// What was run, to be followed by what was found there: "20 schedules (seeds from 1)".
std::string describe_seeds(const Explored& explored, const ExploreLimits& limits);
std::string describe_all(const Explored& explored, uint32_t preemptions);
// Why a search says nothing about all schedules (End::unrepeated).
std::string describe_unrepeated(const Explored& explored);

}  // namespace fb::launcher
