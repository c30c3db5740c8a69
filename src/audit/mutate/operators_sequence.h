#pragma once

// Mistakes about what comes when: signals, waits, and the numbers that they carry.

#include "audit/mutate/change.h"

namespace fb::mutate {

std::vector<Change> drop_wait(const Solution& solution);
std::vector<Change> drop_signal(const Solution& solution);
std::vector<Change> drop_exit_barrier(const Solution& solution);
std::vector<Change> flag_before_data(const Solution& solution);
std::vector<Change> use_before_wait(const Solution& solution);
std::vector<Change> swap_send_receive(const Solution& solution);
std::vector<Change> stale_epoch(const Solution& solution);
std::vector<Change> reuse_flag(const Solution& solution);
std::vector<Change> single_buffer(const Solution& solution);

}  // namespace fb::mutate
