#pragma once

// Mistakes of programs that use network cards (<infiniband/verbs.h>).

#include <vector>

#include "audit/mutate/change.h"

namespace fb::mutate {

std::vector<Change> drop_send_flag(const Solution& solution);
std::vector<Change> wrong_opcode(const Solution& solution);
std::vector<Change> host_byte_order(const Solution& solution);
std::vector<Change> drop_access_right(const Solution& solution);
std::vector<Change> drop_receive(const Solution& solution);
std::vector<Change> drop_stream_wait(const Solution& solution);

}  // namespace fb::mutate
