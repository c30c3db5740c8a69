#pragma once

// The time of a size that is too large to run, from those of smaller sizes that differ in one parameter.
//
// A program in its steady state takes T(x) = a + b x: what it takes to begin and to end, and what each further unit of
// work takes. The line goes through the first and the last of three or more smaller sizes, and how far the others are
// from it tells how far each of the two may be: the interval of the extrapolated time is that of lines through both so
// shifted. Nothing is extrapolated
// - where the interval is too wide: waves of blocks, tiles, a protocol that changes between the sizes;
// - where too much of the time does not grow: the sizes do not show the steady state, or a program waits at small sizes
//   to look fast at large ones.
// Sizes are unevenly spaced, because waves of blocks, one more at each size, would look like a line. What is not seen:
// a protocol that changes beyond the largest of the sizes; a bend that is smaller than the interval.

#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/record/verdict.h"
#include "judge/catalog/problem.h"

namespace fb::judge {

// Half of the interval's width, of the time, that is accepted.
inline constexpr double kWidestDeviation = 0.08;
// Of the time at the largest size that ran: how much of it may not grow.
inline constexpr double kLargestConstantPart = 0.5;

struct Extrapolated {
  double seconds = 0;
  record::Range range = {};  // by the deviation from the line alone
};

// `points`: at least three, by ascending value. Errors: one sentence that says why there is no time.
Result<Extrapolated> extrapolate(const std::vector<record::SamplePoint>& points, double value);

// The timing's figures are those of its largest sample, because `why`.
void use_largest_sample(record::Timing& timing, std::string why);

// Of two timings of one size, the seconds that can be compared: where one of them is not extrapolated, both are those
// of the largest sample.
std::pair<double, double> comparable_seconds(const record::Timing& one, const record::Timing& other);

// Timings of the samples of one size become one Timing: extrapolated where they are on a line, else with the
// figures of the largest and the reason. All others stay as they are. Bytes, and the parts of the time that scale with
// each group of constants, are extrapolated as the time is. In the order of the problem's sizes.
void merge_samples(const catalog::Problem& problem, std::vector<record::Timing>& timings);

}  // namespace fb::judge
