#include <cuda_runtime.h>
#include <fabricbench/nccl.h>
#include <fabricbench/rank.h>
#include <nccl.h>

#include "args.h"

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : world_(rank.world()), comm_(rank) {}

  // A broadcast of each rank's tokens, with its own count, all in one group: what other libraries call all-gather-v.
  // Every rank makes all calls, with the same counts; only the root's first buffer is read.
  void run(const Args& args, cudaStream_t stream) {
    __nv_bfloat16* to = args.out;
    fabricbench::check_nccl(ncclGroupStart());
    for (int r = 0; r < world_; ++r) {
      const int64_t count = (args.tokens + r * args.more) * args.hidden;
      fabricbench::check_nccl(ncclBroadcast(args.in, to, static_cast<size_t>(count), ncclBfloat16, r, comm_, stream));
      to += count;
    }
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  int world_;
  fabricbench::NcclCommunicator comm_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: communicators, buffers
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the work on the stream
//|   }
//| };
// [/solution]
