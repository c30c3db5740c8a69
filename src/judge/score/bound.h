#pragma once

// What bounds a candidate at one size, from the sensitivity of its time (judge/score/intervals.h) and from the bytes
// that it moved.

#include <string>

#include "common/platform/platform.h"
#include "common/record/verdict.h"

namespace fb::judge {

// Shares of what each could have moved in the time; the busiest device's.
struct Utilisation {
  double egress = 0, ingress = 0;     // links to other devices
  double to_host = 0, from_host = 0;  // the link to the host
  double network = 0;                 // the busiest port of a network card
  double memory = 0;
  double links() const;  // the largest of all links
};
Utilisation utilisation(const record::Timing& timing, const platform::Platform& platform);

// "bound by a chain of latencies (61 % of the time scales with latencies, 22 % with launches); links at 4 % of their
// peak". Empty where elasticities are missing.
std::string bound_sentence(const record::Timing& timing, const platform::Platform& platform);

// Fills link_use, memory_use and bound.
void add_bound(record::Timing& timing, const platform::Platform& platform);

// The bound of the longest time also names the line that costs most, where the verdict has a profile: "… ; 61 % of the
// last warp's time at line 42 (link)".
void add_costliest_line(record::Verdict& verdict);

}  // namespace fb::judge
