#pragma once

#include <nccl.h>

#include "ranks/shim/nccl/comm.h"

namespace fb::shim::nccl {

// What of a configuration the model knows; the rest is checked and has no effect.
struct Config {
  bool blocking = true;
  uint32_t most_channels = 0;
};
// `config` may be null, or one of an older and shorter kind.
ncclResult_t read_config(const ncclConfig_t* config, const char* function, Config& into);

}  // namespace fb::shim::nccl
