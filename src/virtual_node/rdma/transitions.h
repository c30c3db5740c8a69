#pragma once

// Which changes of a queue pair's state are valid, and which attributes each must and may carry (InfiniBand
// specification, table of queue pair state transitions).

#include <cstdint>

#include "virtual_node/rdma/numbers.h"

namespace fb::rdma {

// `mask`: attribute::… of the change, attribute::state and attribute::current_state included.
bool is_valid_change(QpType type, QpState from, QpState to, uint32_t mask);

}  // namespace fb::rdma
