#pragma once

#include <nccl.h>

#include "ranks/shim/nccl/comm.h"

namespace fb::shim::nccl {

// The machine's number of a window of this communicator; 0: it is none.
wire::Id window_id(const Comm& comm, ncclWindow_t window);
// All of the buffer is in one window that was registered as NCCL_WIN_COLL_SYMMETRIC.
bool in_symmetric_window(const Comm& comm, const void* buffer, size_t bytes);

}  // namespace fb::shim::nccl
