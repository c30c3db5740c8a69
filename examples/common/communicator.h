// CHECK_NCCL(call): as CHECK, for calls of NCCL. Communicator: one of all ranks, on the device of this one.
#pragma once
#include <nccl.h>

#include "bootstrap.h"
#include "check.h"

inline void check_nccl(ncclResult_t result, const char* call, const char* file, int line) {
  if (result == ncclSuccess) return;
  fail("%s:%d: %s: %s (%s)", file, line, call, ncclGetErrorString(result), ncclGetLastError(nullptr));
}

#define CHECK_NCCL(call) check_nccl((call), #call, __FILE__, __LINE__)

class Communicator {
 public:
  // One rank makes the id; the others get it by whatever way there is.
  explicit Communicator(Bootstrap& bootstrap) {
    ncclUniqueId id = {};
    if (bootstrap.rank == 0) CHECK_NCCL(ncclGetUniqueId(&id));
    const ncclUniqueId first = bootstrap.all_gather(id)[0];
    CHECK_NCCL(ncclCommInitRank(&comm_, bootstrap.world, first, bootstrap.rank));
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator() { ncclCommDestroy(comm_); }

  operator ncclComm_t() const { return comm_; }

 private:
  ncclComm_t comm_ = nullptr;
};
