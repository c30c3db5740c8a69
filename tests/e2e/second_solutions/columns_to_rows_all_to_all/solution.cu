// Pulls by copy engines: for each peer one two-dimensional copy from its `x` into this rank's `y`, on a stream of its
// own, between two barriers of all ranks that are small kernels.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <vector>

using SystemFlag = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;

// flags[r] of a rank: the last barrier at which rank r has arrived.
__global__ void all_ranks(fabricbench::Peers<uint64_t> flags, int rank, uint64_t barrier) {
  const int peer = static_cast<int>(threadIdx.x);
  // Release at system scope: what this rank's stream has done before comes before what the peer's does behind.
  SystemFlag(flags.of[peer][rank]).store(barrier, cuda::memory_order_release);
  // A peer that has left this barrier may be at the next one already: not less is enough.
  SystemFlag arrived(flags.of[rank][peer]);
  while (arrived.load(cuda::memory_order_acquire) < barrier) {
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), flags_(rank, sizeof(uint64_t) * 8), x_(rank, args.x) {
    check(cudaEventCreateWithFlags(&begun_, cudaEventDisableTiming));
    lanes_.resize(static_cast<size_t>(world_));
    for (Lane& lane : lanes_) {
      check(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
      check(cudaEventCreateWithFlags(&lane.copied, cudaEventDisableTiming));
    }
  }
  ~Solution() {
    for (Lane& lane : lanes_) {
      cudaEventDestroy(lane.copied);
      cudaStreamDestroy(lane.stream);
    }
    cudaEventDestroy(begun_);
  }

  void run(const Args& args, cudaStream_t stream) {
    // Behind this barrier all ranks have the numbers of this call in `x`.
    all_ranks<<<1, world_, 0, stream>>>(flags_.peers<uint64_t>(), rank_, ++barrier_);
    check(cudaEventRecord(begun_, stream));
    const auto row = static_cast<size_t>(args.cols) * sizeof(float);
    const int64_t run = args.rows * args.cols;
    for (int step = 0; step < world_; ++step) {
      const int peer = (rank_ + step) % world_;
      Lane& lane = lanes_[static_cast<size_t>(peer)];
      check(cudaStreamWaitEvent(lane.stream, begun_));
      check(cudaMemcpy2DAsync(args.y + peer * args.cols, row * static_cast<size_t>(world_),
                              x_.at<const float>(peer) + rank_ * run, row, row, static_cast<size_t>(args.rows),
                              cudaMemcpyDeviceToDevice, lane.stream));
      check(cudaEventRecord(lane.copied, lane.stream));
      check(cudaStreamWaitEvent(stream, lane.copied));
    }
    // Behind this one no rank reads this rank's `x` any more.
    all_ranks<<<1, world_, 0, stream>>>(flags_.peers<uint64_t>(), rank_, ++barrier_);
  }

 private:
  struct Lane {
    cudaStream_t stream = nullptr;
    cudaEvent_t copied = nullptr;
  };

  static void check(cudaError_t error) { fabricbench::check_cuda(error, "CUDA"); }

  int rank_;
  int world_;
  fabricbench::PeerMemory flags_;
  fabricbench::PeerMemory x_;
  std::vector<Lane> lanes_;
  cudaEvent_t begun_ = nullptr;
  uint64_t barrier_ = 0;
};
// [/solution]
