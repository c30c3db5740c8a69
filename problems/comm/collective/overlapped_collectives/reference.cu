#include <cuda_runtime.h>
#include <fabricbench/nccl.h>
#include <fabricbench/rank.h>
#include <nccl.h>

#include "args.h"

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : reduces_(rank), gathers_(rank) {
    fabricbench::check_cuda(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
    fabricbench::check_cuda(cudaEventCreateWithFlags(&begun_, cudaEventDisableTiming));
    fabricbench::check_cuda(cudaEventCreateWithFlags(&gathered_, cudaEventDisableTiming));
  }
  ~Solution() {
    cudaEventDestroy(gathered_);
    cudaEventDestroy(begun_);
    cudaStreamDestroy(side_);
  }

  // Fork: the side stream begins behind what is in `stream`, which has written the inputs and taken the outputs of the
  // call before. Join: what comes behind in `stream` waits for the side stream, too.
  //
  // All ranks issue the reduction first. The order on the host decides nothing about which ends first.
  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_cuda(cudaEventRecord(begun_, stream));
    fabricbench::check_cuda(cudaStreamWaitEvent(side_, begun_, 0));
    fabricbench::check_nccl(ncclReduceScatter(args.gradients, args.share, static_cast<size_t>(args.n), ncclFloat,
                                              ncclSum, reduces_, stream));
    fabricbench::check_nccl(
        ncclAllGather(args.shard, args.parameters, static_cast<size_t>(args.p), ncclBfloat16, gathers_, side_));
    fabricbench::check_cuda(cudaEventRecord(gathered_, side_));
    fabricbench::check_cuda(cudaStreamWaitEvent(stream, gathered_, 0));
  }

 private:
  fabricbench::NcclCommunicator reduces_, gathers_;
  cudaStream_t side_ = nullptr;
  cudaEvent_t begun_ = nullptr, gathered_ = nullptr;
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
