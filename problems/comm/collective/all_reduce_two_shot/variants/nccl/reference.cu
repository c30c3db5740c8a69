#include <cuda_runtime.h>
#include <fabricbench/nccl.h>
#include <fabricbench/rank.h>
#include <nccl.h>

#include "args.h"

// [solution]
class Solution {
 public:
  // The id of a communicator reaches the other ranks by any way that the program has; here it is rank.h.
  // ncclCommInitRank is collective. It takes milliseconds: never in a call that is timed.
  Solution(const fabricbench::Rank& rank, const Args&) : comm_(rank) {}

  // An operation of the stream: it begins behind the work before it, and what comes behind it sees the sums. NCCL picks
  // the algorithm by the size: a tree or the switch for small vectors, rings for large ones.
  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_nccl(
        ncclAllReduce(args.in, args.out, static_cast<size_t>(args.n), ncclFloat, ncclSum, comm_, stream));
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
