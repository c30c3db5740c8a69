#pragma once

// Modelled times into figures.

#include <vector>

#include "common/platform/platform.h"
#include "common/record/verdict.h"
#include "judge/catalog/problem.h"

namespace fb::judge {

record::Peaks peaks_of(const platform::Platform& platform);

// The roofline: a launch, and whatever takes longest of the bytes that the algorithm moves over a rank's links and
// through its memory, at their peak rates, its crossings of a link that wait for each other, and its products on tensor
// cores.
double limit_seconds(const catalog::Problem& problem, const catalog::SizeClass& size, int world,
                     const platform::Platform& platform);

// What no solution can do without, over links alone; a time below it is no time. (Memory may be answered by a cache.)
double floor_seconds(const catalog::Problem& problem, const catalog::SizeClass& size, int world,
                     const platform::Platform& platform);

// Geometric means over the timings: baseline (or reference) / candidate, and limit / candidate. Without timings, or
// where nothing was measured to compare with, the verdict's stay empty.
void score(record::Verdict& verdict);

}  // namespace fb::judge
