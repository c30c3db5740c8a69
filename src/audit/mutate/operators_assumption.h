#pragma once

// Mistakes that a test forgives where it is small, quiet or clean: what an author assumes about sizes, calls, fresh
// memory and data.

#include "audit/mutate/change.h"

namespace fb::mutate {

std::vector<Change> unsynchronised_fast_path(const Solution& solution);
std::vector<Change> skip_in_later_call(const Solution& solution);
std::vector<Change> assume_cleared(const Solution& solution);
std::vector<Change> zero_is_empty(const Solution& solution);
std::vector<Change> tear_store(const Solution& solution);

}  // namespace fb::mutate
