#pragma once

// Results as figures, and as text to be read.

#include <cstddef>
#include <map>
#include <string>

#include "audit/mutate/result.h"

namespace fb::mutate {

struct Tally {
  size_t mutants = 0;                                 // all that were made
  size_t invalid = 0, equivalent = 0, duplicate = 0;  // equivalent: by code or by argument
  size_t ordinary = 0, schedules = 0, checkers = 0, survived = 0, unjudged = 0;

  size_t killed() const { return ordinary + schedules + checkers; }
  size_t counted() const { return killed() + survived; }  // not equivalent
  double rate() const;                                    // of those that count, killed
  double ordinary_rate() const;                           // by run-and-compare in an ordinary schedule alone
};

void add(Tally& tally, const MutantResult& result);
Tally tally_of(const Run& run);

// Tables by problem and by operator, survivors with what they changed, arguments, and what is wrong with those.
std::string describe(const Run& run);

}  // namespace fb::mutate
