#include <cuda_runtime.h>
#include <fabricbench/nccl.h>
#include <fabricbench/rank.h>
#include <nccl.h>

#include "args.h"

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : world_(rank.world()), comm_(rank) {}

  // One group: `tensors` broadcasts with different roots become one operation. Without it each would wait for the one
  // before, on every rank, and a small broadcast is nothing but waiting.
  //
  // All ranks make the same calls in the same order: the root of each is an argument, not a role that begins early.
  // ncclBroadcast has two buffers; on other ranks than the root the first is not read, so that it may be the valid
  // copy's place in `in` everywhere.
  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_nccl(ncclGroupStart());
    for (int64_t k = 0; k < args.tensors; ++k) {
      const int64_t offset = k * args.n + k * (k - 1) / 2;
      fabricbench::check_nccl(ncclBroadcast(args.in + offset, args.out + offset, static_cast<size_t>(args.n + k),
                                            ncclBfloat16, static_cast<int>(k % world_), comm_, stream));
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
