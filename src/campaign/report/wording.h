#pragma once

// Figures as text, the same in every table.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "campaign/report/summary.h"

namespace fb::report {

inline constexpr std::string_view kNothing = "–";  // where there is no value

std::string percent(const std::optional<double>& share);  // 57.4%
std::string ratio(const std::optional<double>& value);    // 0.813
// With the interval: 57.4% 47–67, 0.813 0.71–0.93
std::string percent_with_interval(const Estimate& share);
std::string ratio_with_interval(const Estimate& value);

// $1.91; "≥ $1.91" where some calls have no price; "unknown" where none has. `amount` is one of the price's figures.
std::string dollars(const Price& price, const std::optional<double>& amount);
std::string tokens(const record::Usage& usage);  // in + out: 1.2M

std::string number_of(size_t count, std::string_view noun);  // "1 sample", "3 samples"

// The text of a cell of models × problems: "0.91", "0.91 3/4" (with several samples), "wrong", "infra", "–".
std::string cell_words(const Cell& cell);

// "all_reduce_ring (wrong), moe_combine (deadlock)": problems that count and have no pass.
std::string never_passed(const Summary& summary, const Model& model);
// "peer_copy (infra ×2)"
std::string excluded_words(const Summary& summary, const Model& model);
// "4 pass, 2 wrong, 1 deadlock": attempts by outcome, the most frequent first.
std::string outcome_words(const Model& model);
// The order that the intervals leave open; empty for a single model.
std::string order_words(const Summary& summary);

}  // namespace fb::report
