#pragma once

// The latencies and rates of a platform's multiprocessors, as lowering wants them.

#include "common/platform/platform.h"
#include "virtual_node/simt/inst.h"
#include "virtual_node/simt/timing.h"

namespace fb::machine {

simt::UnitTimes unit_times(const platform::Platform& platform);

}  // namespace fb::machine
