#include <cuda_runtime.h>
#include <fabricbench/nccl.h>
#include <fabricbench/rank.h>
#include <nccl.h>

#include "args.h"

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : comm_(rank) {}

  // The count is that of what this rank sends. Rows come in the order of ranks in the communicator, which is that of
  // rank.h here; one that was split with other keys would have another order.
  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_nccl(ncclAllGather(args.in, args.out, static_cast<size_t>(args.n), ncclUint32, comm_, stream));
  }

 private:
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
