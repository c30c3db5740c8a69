#pragma once

// Communicators of this process: what the program holds of them, and the machine's number for each.

#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "common/wire/library_link.h"
#include "common/wire/messages.h"
#include "ranks/shim/nccl/error.h"

namespace fb::shim::nccl {

// A sum in which each element is multiplied by a scalar first.
struct ScaledSum {
  ncclDataType_t type{};
  uint64_t scalar = 0;  // its bits, or its address
  bool on_device = false;
};

struct Comm {
  ncclComm_t handle = nullptr;
  wire::Id id = 0;
  int rank = 0, ranks = 0, device = 0;
  bool blocking = true;
  std::atomic<bool> ready = false;  // all ranks have come
  std::atomic<bool> finalized = false, revoked = false, suspended = false;
  bool symmetric = false;                  // windows are mapped to all ranks
  std::atomic<bool> was_launched = false;  // a nonblocking call whose end the program has not asked for
  std::mutex mutex;
  std::map<int, ScaledSum> reductions;  // by ncclRedOp_t
};
using CommPtr = std::shared_ptr<Comm>;

// One request of this thread to the machine.
template <wire::Kind kKind>
int request(const typename wire::Message<kKind>::Request& message,
            typename wire::Message<kKind>::Reply* reply = nullptr, const void* blob = nullptr, size_t blob_bytes = 0) {
  return fabricbench_request(static_cast<uint16_t>(kKind), &message, sizeof message, reply, reply ? sizeof *reply : 0,
                             blob, blob_bytes);
}

void publish(const CommPtr& comm);
// Null: it is none, or was destroyed.
CommPtr find_comm(ncclComm_t handle);
CommPtr take_comm(ncclComm_t handle);

// The communicator of a call; ncclInvalidArgument with a text where there is none. `ready`: it must have been made.
ncclResult_t check_comm(ncclComm_t handle, const char* function, CommPtr& comm, bool ready = true);
// Asks the machine whether a nonblocking communicator is made by now.
ncclResult_t refresh(Comm& comm, ncclResult_t& state);

// Waits until the machine has nothing in progress for it.
ncclResult_t wait_for(Comm& comm, const char* function);

// The current device is another one for as long as this lives.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    cudaGetDevice(&before_);
    cudaSetDevice(device);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { cudaSetDevice(before_); }

 private:
  int before_ = 0;
};

}  // namespace fb::shim::nccl
