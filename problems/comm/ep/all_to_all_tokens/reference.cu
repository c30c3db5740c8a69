#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/nccl.h>
#include <fabricbench/rank.h>
#include <nccl.h>

#include "args.h"

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    const size_t bytes = static_cast<size_t>(world_ * world_) * sizeof(int32_t);
    fabricbench::check_cuda(cudaMalloc(&matrix_, bytes));
    fabricbench::check_cuda(cudaMallocHost(&counts_, bytes));
  }
  ~Solution() {
    cudaFreeHost(counts_);
    cudaFree(matrix_);
  }

  // Every rank learns all counts, row s of the matrix being those of rank s: the own row sizes what is sent, the own
  // column what is received. It is one small collective, and the host waits once, for it alone.
  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<size_t>(world_), hidden = static_cast<size_t>(args.hidden);
    fabricbench::check_nccl(ncclAllGather(args.counts, matrix_, world, ncclInt32, comm_, stream));
    fabricbench::check_cuda(
        cudaMemcpyAsync(counts_, matrix_, world * world * sizeof(int32_t), cudaMemcpyDeviceToHost, stream));
    // The own column, element by element at the distance of a row.
    fabricbench::check_cuda(cudaMemcpy2DAsync(args.received, sizeof(int32_t), matrix_ + rank_, world * sizeof(int32_t),
                                              sizeof(int32_t), world, cudaMemcpyDeviceToDevice, stream));
    fabricbench::check_cuda(cudaStreamSynchronize(stream));
    const __nv_bfloat16* from = args.in;
    __nv_bfloat16* to = args.out;
    fabricbench::check_nccl(ncclGroupStart());
    for (int peer = 0; peer < world_; ++peer) {
      const size_t sent = hidden * static_cast<size_t>(counts_[rank_ * world_ + peer]);
      const size_t got = hidden * static_cast<size_t>(counts_[peer * world_ + rank_]);
      if (peer == rank_) {
        if (got > 0)
          fabricbench::check_cuda(cudaMemcpyAsync(to, from, got * sizeof(*to), cudaMemcpyDeviceToDevice, stream));
      } else {
        // Nothing is sent where there is nothing: both sides know.
        if (sent > 0) fabricbench::check_nccl(ncclSend(from, sent, ncclBfloat16, peer, comm_, stream));
        if (got > 0) fabricbench::check_nccl(ncclRecv(to, got, ncclBfloat16, peer, comm_, stream));
      }
      from += sent;
      to += got;
    }
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  int32_t *matrix_ = nullptr, *counts_ = nullptr;
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
