#pragma once

// How far modelled times and speeds may be off because the platform's constants are.
//
// The sensitivity of a time T to a group of constants is the elasticity e = ln(T' / T) / ln(f), where T' is the time on
// a platform on which the group is slower by the factor f. With the group's uncertainty u, the time is T exp(±sqrt(Σ (e
// u)²)): groups are wrong independently of each other. A speed is a quotient of two times on one platform, whose errors
// are the same: it answers with the difference of both elasticities. docs/time.md says what is not in it.

#include <vector>

#include "fabric/group.h"
#include "record/verdict.h"

namespace fb::judge {

// How much slower a group is made to measure: enough to be seen beside the clock's own grain, and little enough that
// what bounds the program stays the same.
inline constexpr double kSlower = 1.1;

// Of a time that is `slower` where the group is slower by kSlower.
double elasticity(double seconds, double slower);

// Elasticities as a record has them; none of it may be missing.
fabric::ByGroup elasticities(const record::Timing& timing);

// sqrt(Σ (e u)²)
double relative_error(const fabric::ByGroup& elasticities, const fabric::ByGroup& uncertainties);

// `timings` and `slow`: the same calls, as they are and with one group slower. What `slow` does not have stays unknown.
void add_elasticities(std::vector<record::Timing>& timings, fabric::Group group,
                      const std::vector<record::Timing>& slow);

// Ranges of times, and of speeds where `reference` was measured, and of the verdict's speed. Where elasticities are
// missing there is no range.
void add_intervals(record::Verdict& verdict, const std::vector<record::Timing>& reference,
                   const fabric::Platform& platform);

}  // namespace fb::judge
