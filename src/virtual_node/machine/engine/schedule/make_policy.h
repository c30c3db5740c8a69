#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "virtual_node/machine/engine/schedule/schedule_policy.h"
#include "virtual_node/machine/engine/schedule/sync_steps.h"

namespace fb::machine {

// `steps` outlives the policy.
std::unique_ptr<SchedulePolicy> make_policy(ScheduleKind kind, uint64_t seed, const std::vector<uint32_t>& choices,
                                            SyncSteps& steps);

}  // namespace fb::machine
