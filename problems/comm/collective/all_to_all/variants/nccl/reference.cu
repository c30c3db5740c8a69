#include <cuda_runtime.h>
#include <fabricbench/nccl.h>
#include <fabricbench/rank.h>
#include <nccl.h>

#include "args.h"

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {}

  // One group: all sends and receives become one operation, in which none waits for another. Issued one by one, every
  // rank's first send would wait for a receive that stands behind the receiver's own first send.
  //
  // The order inside a group does not matter for what is right. Beginning with the next rank, every rank's k-th
  // message goes to a different target, so that no port gets all of them at once.
  //
  // The own block is a message to oneself: NCCL copies it on the device, in the same operation.
  void run(const Args& args, cudaStream_t stream) {
    const auto n = static_cast<size_t>(args.n);
    fabricbench::check_nccl(ncclGroupStart());
    for (int k = 0; k < world_; ++k) {
      const int to = (rank_ + k) % world_, from = (rank_ - k + world_) % world_;
      fabricbench::check_nccl(ncclSend(args.in + to * n, n, ncclFloat, to, comm_, stream));
      fabricbench::check_nccl(ncclRecv(args.out + from * n, n, ncclFloat, from, comm_, stream));
    }
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: a communicator
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the sends and receives on the stream
//|   }
//| };
// [/solution]
