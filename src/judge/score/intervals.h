#pragma once

// How far modelled times and speeds may be off because the platform's constants are.
//
// The sensitivity of a time T to a group of constants is its elasticity e: T grows by e per cent where the group is
// slower by one per cent. The timed call tells it, because the machine knows what its time is made of
// (virtual_node/fabric/share_ledger.h). Where too much of that is not known, and as a test, it is the slope of the
// times on slower and faster platforms. With the group's uncertainty u, the time is T exp(±sqrt(Σ (e u)²)): groups are
// wrong independently of each other. A speed is a quotient of two times on one platform, whose errors are the same: it
// answers with the difference of both elasticities. docs/reference/time.md says what is not in it.

#include <map>
#include <string>
#include <vector>

#include "common/platform/group.h"
#include "common/record/verdict.h"
#include "common/wire/harness.h"

namespace fb::judge {

// How much slower a group is made to measure: enough to be seen beside the clock's own grain, and little enough that
// what bounds the program stays the same.
inline constexpr double kSlower = 1.1;

// The same timed calls on a platform on which a group is slower by a factor.
struct SlowerRun {
  platform::Group group = {};
  double factor = kSlower;
  std::vector<record::Timing> timings = {};
};

// Elasticities as a record has them; none of it may be missing.
platform::ByGroup elasticities(const record::Timing& timing);

// sqrt(Σ (e u)²)
double relative_error(const platform::ByGroup& elasticities, const platform::ByGroup& uncertainties);

// Elasticities as a record has them, of a time that is made of `shares`. Empty: too much of it is not known.
std::map<std::string, double> sensitivity_of(const wire::GroupShares& shares, uint64_t time);

// The slopes of lines through the times as they are and those of `runs`. What no run has stays as it is.
void add_elasticities(std::vector<record::Timing>& timings, const std::vector<SlowerRun>& runs);

// The timing of the same size and world; null: there is none.
const record::Timing* same_call(const std::vector<record::Timing>& timings, const record::Timing& t);

// Ranges of times, and of speeds where `yardstick` (baseline or reference) was measured, and of the verdict's speed.
// Where elasticities are missing there is no range.
void add_intervals(record::Verdict& verdict, const std::vector<record::Timing>& yardstick,
                   const platform::Platform& platform);

}  // namespace fb::judge
