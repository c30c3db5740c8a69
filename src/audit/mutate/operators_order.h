#pragma once

// Mistakes about memory order: fences, barriers, scopes, orders, accesses that are no atomics.

#include "audit/mutate/change.h"

namespace fb::mutate {

std::vector<Change> drop_fence(const Solution& solution);
std::vector<Change> weaken_fence(const Solution& solution);
std::vector<Change> drop_barrier(const Solution& solution);
std::vector<Change> weaken_barrier(const Solution& solution);
std::vector<Change> narrow_scope(const Solution& solution);
std::vector<Change> relax_acquire(const Solution& solution);
std::vector<Change> relax_release(const Solution& solution);
std::vector<Change> plain_access(const Solution& solution);
std::vector<Change> plain_update(const Solution& solution);

}  // namespace fb::mutate
