#pragma once

// Mistakes in ranks and counts: peers, neighbours, bounds, the end of the data, the width of an access.

#include "audit/mutate/change.h"

namespace fb::mutate {

std::vector<Change> wrong_peer(const Solution& solution);
std::vector<Change> wrong_neighbour(const Solution& solution);
std::vector<Change> off_by_one(const Solution& solution);
std::vector<Change> skip_tail(const Solution& solution);
std::vector<Change> round_down(const Solution& solution);
std::vector<Change> unclipped_chunk(const Solution& solution);
std::vector<Change> narrow_vector(const Solution& solution);

}  // namespace fb::mutate
