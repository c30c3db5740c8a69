#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/nccl.h>
#include <fabricbench/rank.h>
#include <nccl.h>

#include "args.h"

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(cudaMallocHost(&plan_, static_cast<size_t>(world_ * args.slots) * sizeof(int32_t)));
  }
  ~Solution() { cudaFreeHost(plan_); }

  // The plan is copied in the stream's order and waited for: a plain read by the host would see the plan of an earlier
  // call. Then all ranks go through the same plan in the same order. Each takes from it the moves that it has a part
  // in, so that between any two ranks sends and receives come in the same order.
  //
  // Moves inside a rank are copies on the same stream; only messages are in the group.
  void run(const Args& args, cudaStream_t stream) {
    const int64_t all = world_ * args.slots;
    const auto n = static_cast<size_t>(args.n);
    fabricbench::check_cuda(
        cudaMemcpyAsync(plan_, args.plan, static_cast<size_t>(all) * sizeof(int32_t), cudaMemcpyDeviceToHost, stream));
    fabricbench::check_cuda(cudaStreamSynchronize(stream));
    fabricbench::check_nccl(ncclGroupStart());
    for (int64_t to = 0; to < all; ++to) {
      const int64_t from = plan_[to];
      const int source = static_cast<int>(from / args.slots), target = static_cast<int>(to / args.slots);
      const __nv_bfloat16* expert = args.weights + from % args.slots * args.n;
      __nv_bfloat16* slot = args.moved + to % args.slots * args.n;
      if (source == target) {
        if (source == rank_)
          fabricbench::check_cuda(cudaMemcpyAsync(slot, expert, n * sizeof(*slot), cudaMemcpyDeviceToDevice, stream));
      } else if (source == rank_) {
        fabricbench::check_nccl(ncclSend(expert, n, ncclBfloat16, target, comm_, stream));
      } else if (target == rank_) {
        fabricbench::check_nccl(ncclRecv(slot, n, ncclBfloat16, source, comm_, stream));
      }
    }
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  int32_t* plan_ = nullptr;
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
