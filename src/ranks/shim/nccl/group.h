#pragma once

// Groups: between ncclGroupStart and the outermost ncclGroupEnd of a thread, calls are written down only.

#include <nccl.h>

#include <vector>

#include "ranks/shim/nccl/comm.h"

namespace fb::shim::nccl {

struct GroupCall {
  CommPtr comm;
  wire::CollectiveCall call;
  cudaStream_t stream = nullptr;
};

// A function is a group of its own where the program has begun none.
class Scope {
 public:
  Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // The end of the function: remembers the error for the end of the program's group, or ends the function's own group.
  ncclResult_t end(ncclResult_t result);
};

bool in_group();
void add_call(GroupCall call);
// Waited for at the end of the group: a communicator, or a window of it.
void add_job(const CommPtr& comm);

}  // namespace fb::shim::nccl
