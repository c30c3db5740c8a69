#pragma once

// One program under many schedules: drawn ones, or all that there are up to a bound.
//
// All: a run follows a list of choices and then always takes the first option; its record lists the options of every
// choice. The next list differs in the last choice with an untried option, so no schedule is run twice (depth-first
// search). Switching away from a warp that could have continued is a preemption, and a schedule has a bounded number of
// them; switching away from a blocked warp is free.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/launch.h"
#include "record/run_record.h"

namespace fb::launcher {

// "0,2,1"; for an empty list "0", which is as good.
std::string to_text(const std::vector<uint32_t>& choices);

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
    unrepeated,  // the program did not do the same again: nothing can be said about all schedules
  };
  End end = End::all;
  uint64_t schedules = 0;      // that were run
  LaunchRequest request = {};  // of the last run
  LaunchResult last = {};
};

// Runs the program once. The first run says what it has to say; later ones are silent.
using RunOnce = std::function<Result<LaunchResult>(const LaunchRequest&)>;

// Seeds 1, 2, …; until something goes wrong.
Result<Explored> explore_seeds(LaunchRequest request, const ExploreLimits& limits, const RunOnce& run);
// All schedules with so many preemptions; until something goes wrong.
Result<Explored> explore_all(LaunchRequest request, uint32_t preemptions, const ExploreLimits& limits,
                             const RunOnce& run);

// In one line, where nothing was found.
std::string describe_seeds(const Explored& explored);
std::string describe_all(const Explored& explored, uint32_t preemptions);

}  // namespace fb::launcher
