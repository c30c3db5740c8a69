// problem: all_to_all_nccl
// expect: deadlock
// explains: messages wait for each other | rank 0 waits in ncclSend | ncclGroupStart
// mode: quick
// seconds: 20
// about: Sends and receives one by one: every rank's first send waits for a receive behind a send.
#include <cuda_runtime.h>
#include <fabricbench/nccl.h>
#include <fabricbench/rank.h>
#include <nccl.h>

#include "args.h"

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {}
  void run(const Args& args, cudaStream_t stream) {
    for (int k = 1; k < world_; ++k) {
      ncclSend(args.in + (rank_ + k) % world_ * args.n, args.n, ncclFloat, (rank_ + k) % world_, comm_, stream);
      const int from = (rank_ - k + world_) % world_;
      ncclRecv(args.out + from * args.n, args.n, ncclFloat, from, comm_, stream);
    }
    cudaMemcpyAsync(args.out + rank_ * args.n, args.in + rank_ * args.n, args.n * sizeof(float),
                    cudaMemcpyDeviceToDevice, stream);
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
};
// [/solution]
