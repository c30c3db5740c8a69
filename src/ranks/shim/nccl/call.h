#pragma once

// One call of a collective, a message or a one-sided operation: how it is checked and written down.

#include "ranks/shim/nccl/group.h"

namespace fb::shim::nccl {

struct Ends {
  const void* send = nullptr;
  void* receive = nullptr;
};

struct Call {
  wire::CollectiveKind kind{};
  const char* name = "";
  Ends ends;
  size_t count = 0;
  ncclDataType_t type{};
  ncclRedOp_t op = ncclSum;
  int peer = 0;
  const void* caller = nullptr;
};

ncclResult_t check(const Call& c, ncclComm_t handle, GroupCall& into);

}  // namespace fb::shim::nccl

#define FB_CALLER __builtin_return_address(0)
