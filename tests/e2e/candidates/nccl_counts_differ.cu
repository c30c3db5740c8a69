// problem: all_to_all_nccl
// expect: deadlock
// explains: has different counts on its ranks | rank 3 calls ncclRecv
// mode: quick
// seconds: 20
// about: The last rank receives one element less than it is sent.
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
    ncclGroupStart();
    for (int peer = 0; peer < world_; ++peer) {
      const size_t less = rank_ == world_ - 1 ? 1 : 0;
      ncclSend(args.in + peer * args.n, args.n, ncclFloat, peer, comm_, stream);
      ncclRecv(args.out + peer * args.n, args.n - less, ncclFloat, peer, comm_, stream);
    }
    ncclGroupEnd();
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
};
// [/solution]
