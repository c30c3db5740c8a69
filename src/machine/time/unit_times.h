#pragma once

// The latencies and rates of a platform's multiprocessors, as lowering wants them.

#include "fabric/platform.h"
#include "simt/inst.h"
#include "simt/timing.h"

namespace fb::machine {

simt::UnitTimes unit_times(const fabric::Platform& platform);

}  // namespace fb::machine
