#pragma once

// Figures and names in the form that pages show.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "campaign/report/estimate.h"
#include "common/record/verdict.h"

namespace fb::report::site {

inline constexpr std::string_view kNothing = "–";

std::string count_text(uint64_t count);                                           // 12,345
std::string time_text(double seconds);                                            // 3.42 µs
std::string bytes_text(double bytes);                                             // 1.5 MiB
std::string percent_text(double share);                                           // 62.5%
std::string share_text(double share);                                             // 62%
std::string ratio_text(double ratio);                                             // 1.02
std::string usd_text(double usd);                                                 // $0.0123
std::string plural(uint64_t count, std::string_view one, std::string_view many);  // 1 round, 2 rounds

// "48 – 75%", "0.61 – 0.83"; empty without an interval.
std::string percent_interval(const Estimate& estimate);
std::string ratio_interval(const Estimate& estimate);

// "4 ranks, size odd, call 2, rank 1, schedule 77"; empty if nothing is known.
std::string place_text(const record::FailureLocation& place);

// One outcome of an attempt (record::outcome).
struct OutcomeWords {
  std::string_view name;     // as in records; the CSS class is "o-" and this name
  std::string_view label;    // Deadlock
  std::string_view sign;     // one character, so that outcomes differ in more than colour
  std::string_view meaning;  // one sentence
};
// An unknown name is its own label.
OutcomeWords outcome_words(std::string_view outcome);

}  // namespace fb::report::site
