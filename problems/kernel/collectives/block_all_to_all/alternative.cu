// [solution]
#include <fabricbench/rank_barrier.h>

// Between the barriers, copy engines fetch the blocks, one stream for each peer.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), words_(rank, 64 * sizeof(uint32_t)), inputs_(rank, args.in) {
    fabricbench::check_cuda(cudaEventCreateWithFlags(&begun_, cudaEventDisableTiming));
    for (int k = 0; k < world_; ++k) {
      fabricbench::check_cuda(cudaStreamCreateWithFlags(&streams_[k], cudaStreamNonBlocking));
      fabricbench::check_cuda(cudaEventCreateWithFlags(&copied_[k], cudaEventDisableTiming));
    }
  }
  ~Solution() {
    cudaEventDestroy(begun_);
    for (int k = 0; k < world_; ++k) {
      cudaEventDestroy(copied_[k]);
      cudaStreamDestroy(streams_[k]);
    }
  }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t block = args.rows * args.hidden;
    // all inputs are there
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    fabricbench::check_cuda(cudaEventRecord(begun_, stream));
    for (int k = 0; k < world_; ++k) {
      const int source = (rank_ + k) % world_;
      fabricbench::check_cuda(cudaStreamWaitEvent(streams_[k], begun_, 0));
      fabricbench::check_cuda(
          cudaMemcpyAsync(args.out + source * block, inputs_.at<__nv_bfloat16>(source) + rank_ * block,
                          static_cast<size_t>(block) * sizeof(__nv_bfloat16), cudaMemcpyDeviceToDevice, streams_[k]));
      fabricbench::check_cuda(cudaEventRecord(copied_[k], streams_[k]));
      fabricbench::check_cuda(cudaStreamWaitEvent(stream, copied_[k], 0));
    }
    // all have read
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, inputs_;
  cudaEvent_t begun_ = nullptr, copied_[fabricbench::kMostRanks] = {};
  cudaStream_t streams_[fabricbench::kMostRanks] = {};
};
// [/solution]
