// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

// NCCL's calls need the counts on the host: all ranks gather all of them, the host waits for its copy, and then sizes
// the messages. They arrive where they belong.
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

  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<size_t>(world_);
    fabricbench::check_nccl(ncclAllGather(args.counts, matrix_, world, ncclInt32, comm_, stream));
    fabricbench::check_cuda(
        cudaMemcpyAsync(counts_, matrix_, world * world * sizeof(int32_t), cudaMemcpyDeviceToHost, stream));
    // The own column of the matrix.
    fabricbench::check_cuda(cudaMemcpy2DAsync(args.received, sizeof(int32_t), matrix_ + rank_, world * sizeof(int32_t),
                                              sizeof(int32_t), world, cudaMemcpyDeviceToDevice, stream));
    fabricbench::check_cuda(cudaStreamSynchronize(stream));
    const __nv_bfloat16* from = args.in;
    __nv_bfloat16* to = args.out;
    fabricbench::check_nccl(ncclGroupStart());
    for (int peer = 0; peer < world_; ++peer) {
      const int64_t sent = args.hidden * counts_[rank_ * world_ + peer];
      const int64_t got = args.hidden * counts_[peer * world_ + rank_];
      // No message of nothing: both sides know.
      if (sent > 0)
        fabricbench::check_nccl(ncclSend(from, static_cast<size_t>(sent), ncclBfloat16, peer, comm_, stream));
      if (got > 0) fabricbench::check_nccl(ncclRecv(to, static_cast<size_t>(got), ncclBfloat16, peer, comm_, stream));
      from += sent;
      to += got;
    }
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  int32_t *matrix_ = nullptr, *counts_ = nullptr;  // [source][target], on the GPU and on the host
};
// [/solution]
