#pragma once

// From the attempts of runs to samples and cells.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "campaign/report/summary.h"
#include "campaign/report/tally.h"
#include "common/record/campaign.h"

namespace fb::report {

inline constexpr uint32_t kAllRounds = std::numeric_limits<uint32_t>::max();

std::span<const record::Attempt> attempts_of(std::span<const record::Run> runs, const Sample& sample);

// The sample made of runs[run].attempts[first … first + count - 1]; count > 0.
Sample sample_of(std::span<const record::Run> runs, size_t run, size_t first, uint32_t count);

// The samples of a cell that count, as of a given round.
Tally tally_of(std::span<const record::Run> runs, const Cell& cell, uint32_t last_round, double good);

// Computes all figures of a cell from its samples.
void fill_cell(std::span<const record::Run> runs, Cell& cell, double good);

}  // namespace fb::report
