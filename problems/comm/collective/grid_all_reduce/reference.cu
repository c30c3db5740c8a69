#include <cuda_runtime.h>
#include <fabricbench/nccl.h>
#include <fabricbench/rank.h>
#include <nccl.h>

#include "args.h"

// [solution]
class Solution {
 public:
  // Colours are the groups, keys the order in them. Both splits are collective over all ranks, in the same order.
  Solution(const fabricbench::Rank& rank, const Args&) : all_(rank) {
    const int r = rank.rank();
    fabricbench::check_nccl(ncclCommSplit(all_, r / 2, r, &row_, nullptr));
    fabricbench::check_nccl(ncclCommSplit(all_, r % 2, r, &column_, nullptr));
  }
  ~Solution() {
    ncclCommDestroy(column_);
    ncclCommDestroy(row_);
  }

  // One group over two communicators: both reductions start together. One by one, on one stream, the second would wait
  // for the first.
  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_nccl(ncclGroupStart());
    fabricbench::check_nccl(ncclAllReduce(args.activation, args.activation_sum, static_cast<size_t>(args.n), ncclFloat,
                                          ncclSum, row_, stream));
    fabricbench::check_nccl(ncclAllReduce(args.gradient, args.gradient_mean, static_cast<size_t>(args.g), ncclFloat,
                                          ncclAvg, column_, stream));
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  fabricbench::NcclCommunicator all_;
  ncclComm_t row_ = nullptr, column_ = nullptr;
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
