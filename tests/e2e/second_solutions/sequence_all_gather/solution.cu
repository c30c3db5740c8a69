// Copy engines push this rank's tokens into the `out` of every rank, with one copy in two dimensions for each: a row of
// the copy is a sequence's piece, and the pitches change the layout on the way. A barrier of all ranks before it (every
// rank has begun the call) and one behind it (everything has arrived).

#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <vector>

// Thread p tells rank p that this rank is here, and waits for rank p. Numbers grow with each barrier, so a rank that
// is ahead does no harm, and nothing is reset. System scope: the other side is another GPU. Release: what is before
// this kernel in its stream, copies included, is before the flag; acquire: what follows in the stream is behind it.
__global__ void barrier(fabricbench::Peers<uint32_t> flags, int rank, uint32_t number) {
  const int peer = static_cast<int>(threadIdx.x);
  cuda::atomic_ref<uint32_t, cuda::thread_scope_system> theirs(flags.of[peer][rank]);
  cuda::atomic_ref<uint32_t, cuda::thread_scope_system> mine(flags.of[rank][peer]);
  theirs.store(number, cuda::memory_order_release);
  while (static_cast<int32_t>(mine.load(cuda::memory_order_acquire) - number) < 0) {
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        flags_(rank, sizeof(uint32_t) * static_cast<size_t>(rank.world())),
        out_(rank, args.out),
        streams_(static_cast<size_t>(rank.world())),
        done_(static_cast<size_t>(rank.world())) {
    for (auto& stream : streams_) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (auto& event : done_) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    check(cudaEventCreateWithFlags(&begun_, cudaEventDisableTiming));
  }

  ~Solution() {
    for (auto& stream : streams_) cudaStreamDestroy(stream);
    for (auto& event : done_) cudaEventDestroy(event);
    cudaEventDestroy(begun_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const size_t piece = sizeof(uint16_t) * static_cast<size_t>(args.tokens * args.hidden);  // bytes, of one sequence
    const size_t world = static_cast<size_t>(world_);
    const size_t rank = static_cast<size_t>(rank_);

    // Owners of other `out`s have begun this call: the contents of their last call are taken.
    barrier<<<1, world_, 0, stream>>>(flags_.peers<uint32_t>(), rank_, ++number_);
    check(cudaEventRecord(begun_, stream));
    for (size_t step = 0; step < world; ++step) {
      const size_t to = (rank + step) % world;  // all ranks begin with different ones
      check(cudaStreamWaitEvent(streams_[step], begun_));
      check(cudaMemcpy2DAsync(out_.at<char>(static_cast<int>(to), rank * piece), world * piece, args.in, piece, piece,
                              static_cast<size_t>(args.batch), cudaMemcpyDeviceToDevice, streams_[step]));
      check(cudaEventRecord(done_[step], streams_[step]));
    }
    for (size_t step = 0; step < world; ++step) check(cudaStreamWaitEvent(stream, done_[step]));
    // All ranks' copies have ended: this rank's `out` is complete.
    barrier<<<1, world_, 0, stream>>>(flags_.peers<uint32_t>(), rank_, ++number_);
  }

 private:
  static void check(cudaError_t status) { fabricbench::check_cuda(status, "sequence_all_gather"); }

  int rank_;
  int world_;
  fabricbench::PeerMemory flags_;
  fabricbench::PeerMemory out_;
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> done_;
  cudaEvent_t begun_ = nullptr;
  uint32_t number_ = 0;
};
// [/solution]
