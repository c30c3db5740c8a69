#pragma once

// A communicator of NCCL for all ranks of a problem, for solutions that may use the library. Construct it in the
// constructor of a solution (it is collective there), and keep it as a member: its end is the communicator's.

#include <fabricbench/check.h>
#include <nccl.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "fabricbench/rank.h"

namespace fabricbench {

// Throws unless `result` is ncclSuccess.
inline void check_nccl(ncclResult_t result, const char* what = "NCCL") {
  if (result != ncclSuccess) throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(result));
}

class NcclCommunicator {
 public:
  // Rank 0 makes the id, and all ranks learn it through rank.h: NCCL needs no other way to find its peers.
  explicit NcclCommunicator(const Rank& rank) {
    ncclUniqueId id = {};
    if (rank.rank() == 0) check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    // As bytes: nvcc fails on vectors of NCCL's nameless struct.
    std::vector<char> all(sizeof id * static_cast<size_t>(rank.world()));
    rank.all_gather(&id, sizeof id, all.data());
    std::memcpy(&id, all.data(), sizeof id);
    check_nccl(ncclCommInitRank(&comm_, rank.world(), id, rank.rank()), "ncclCommInitRank");
  }
  ~NcclCommunicator() { ncclCommDestroy(comm_); }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  operator ncclComm_t() const { return comm_; }

 private:
  ncclComm_t comm_ = nullptr;
};

}  // namespace fabricbench
