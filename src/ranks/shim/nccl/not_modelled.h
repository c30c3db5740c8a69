#pragma once

namespace fb::shim::nccl {

// ncclInvalidUsage, with a text for ncclGetLastError; the run's record counts it by name.
int not_modelled(const char* function);

}  // namespace fb::shim::nccl
