#include <cuda.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cuda/atomic>
#include <stdexcept>
#include <vector>

#include "args.h"

// [interface]
struct alignas(16) Item {
  uint32_t producer, round;
  uint32_t low, high;
};
// [/interface]

// The producers, and what they need beside the FIFO.
namespace proof {

using fabricbench::Peers;
using SystemWord = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

struct Shape {
  int rank, world, blocks, threads, rounds;
};

// What producers and consumer tell each other, in pinned memory.
struct Desk {
  uint32_t pushed;    // pushes that have returned, in all calls so far
  uint32_t taken[8];  // by block: the last call of which all items have come out
};

// A barrier of the blocks with one number on all ranks. Its words are those that the ranks wrote into this rank's
// memory.
__device__ inline void barrier(const Peers<uint32_t>& words, const Shape& shape, uint32_t epoch) {
  __syncthreads();
  const int row = static_cast<int>(blockIdx.x) * shape.world;
  for (int peer = static_cast<int>(threadIdx.x); peer < shape.world; peer += static_cast<int>(blockDim.x)) {
    SystemWord(words.of[peer][row + shape.rank]).store(epoch, cuda::memory_order_release);
  }
  for (int peer = static_cast<int>(threadIdx.x); peer < shape.world; peer += static_cast<int>(blockDim.x)) {
    while (SystemWord(words.of[shape.rank][row + peer]).load(cuda::memory_order_acquire) < epoch) {
    }
  }
  __syncthreads();
}

template <class Queue>
__global__ void produce(Queue queue, const uint32_t* in, Peers<uint32_t> words, Desk* desk, Shape shape,
                        uint32_t call) {
  barrier(words, shape, 2 * call - 1);  // the next rank's values are there
  const auto block = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  for (int round = 0; round < shape.rounds; ++round) {
    const auto push = [&](int column) {
      const int64_t row = int64_t{block} * (shape.threads + 1) + column;
      const uint32_t* const value = in + (int64_t{round} * shape.blocks * (shape.threads + 1) + row) * 2;
      queue.push(Item{static_cast<uint32_t>(row), static_cast<uint32_t>(round), value[0], value[1]});
      // Relaxed: to publish the item is the queue's affair, and a release here would do it for one that forgets.
      SystemWord(desk->pushed).fetch_add(1, cuda::memory_order_relaxed);
    };
    push(thread);
    __syncthreads();
    if (thread == 0) push(shape.threads);
    __syncthreads();
  }
  if (thread == 0) {
    while (SystemWord(desk->taken[block]).load(cuda::memory_order_acquire) != call) {
    }
  }
  barrier(words, shape, 2 * call);  // the rank before has read my values
}

__global__ void copy_out(const uint32_t* from, uint32_t* to, int64_t count) {
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) to[i] = from[i];
}

}  // namespace proof

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : shape_{rank.rank(), rank.world(), static_cast<int>(args.blocks), static_cast<int>(args.threads),
               static_cast<int>(args.rounds)},
        rows_(static_cast<size_t>(args.blocks * (args.threads + 1))),
        words_(rank, sizeof(uint32_t) * static_cast<size_t>(args.blocks * rank.world())),
        inputs_(rank, args.in),
        solution_(rank, static_cast<int>(args.capacity)) {
    using fabricbench::check_cuda;
    check_cuda(cudaHostAlloc(&came_, sizeof(uint32_t) * 2 * total(), cudaHostAllocMapped), "cudaHostAlloc");
    check_cuda(cudaHostAlloc(&desk_, sizeof *desk_, cudaHostAllocMapped), "cudaHostAlloc");
    *desk_ = proof::Desk{};
    check_cuda(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~Driver() {
    cudaStreamDestroy(side_);
    cudaFreeHost(came_);
    cudaFreeHost(desk_);
  }

  void run(const Args& args, cudaStream_t stream) {
    ++call_;
    const int next = (shape_.rank + 1) % shape_.world;
    for (size_t i = 0; i < 2 * total(); ++i) came_[i] = kMissing;
    proof::produce<typename Solution::Queue><<<shape_.blocks, shape_.threads, 0, stream>>>(
        solution_.queue(), inputs_.at<const uint32_t>(next), words_.peers<uint32_t>(), desk_, shape_, call_);
    fabricbench::check_cuda(cudaGetLastError(), "launch");
    drain();
    proof::copy_out<<<1, 256, 0, stream>>>(came_, args.out, static_cast<int64_t>(2 * total()));
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  static constexpr uint32_t kMissing = 0xDEADBEEF;

  // Takes everything out; gives up when all was pushed and there is nothing more. Either way the blocks may end.
  void drain() {
    std::vector<int> of_row(rows_), of_block(static_cast<size_t>(shape_.blocks));
    for (size_t left = total();;) {
      const uint32_t pushed = proof::SystemWord(desk_->pushed).load(cuda::memory_order_acquire);
      for (Item item{}; left > 0 && solution_.pop(item); --left) take(item, of_row, of_block);
      if (left == 0 || pushed == call_ * static_cast<uint32_t>(total())) break;
      // The item that comes next was not there when we read the count, so its push has yet to return.
      if (cuStreamWaitValue32(side_, reinterpret_cast<CUdeviceptr>(&desk_->pushed), pushed + 1,
                              CU_STREAM_WAIT_VALUE_GEQ) != CUDA_SUCCESS) {
        throw std::runtime_error("cuStreamWaitValue32 failed");
      }
      fabricbench::check_cuda(cudaStreamSynchronize(side_), "cudaStreamSynchronize");
    }
    for (int block = 0; block < shape_.blocks; ++block) release(block);
  }

  void take(const Item& item, std::vector<int>& of_row, std::vector<int>& of_block) {
    if (item.producer >= rows_) return;
    const int columns = shape_.threads + 1, block = static_cast<int>(item.producer) / columns;
    const bool marker = static_cast<int>(item.producer) % columns == shape_.threads;
    const int order = of_row[item.producer]++, before = of_block[static_cast<size_t>(block)]++;
    if (order < shape_.rounds && item.round == static_cast<uint32_t>(order)) {
      uint32_t* const place = came_ + (static_cast<size_t>(order) * rows_ + item.producer) * 2;
      place[0] = item.low + (marker ? static_cast<uint32_t>(before) : 0);
      place[1] = item.high;
    }
    if (before + 1 == shape_.rounds * columns) release(block);
  }

  void release(int block) { proof::SystemWord(desk_->taken[block]).store(call_, cuda::memory_order_release); }

  size_t total() const { return rows_ * static_cast<size_t>(shape_.rounds); }

  proof::Shape shape_;
  size_t rows_;  // producers and markers
  fabricbench::PeerMemory words_, inputs_;
  Solution solution_;
  uint32_t* came_ = nullptr;  // what came out, as `out` has it; in pinned memory
  proof::Desk* desk_ = nullptr;
  cudaStream_t side_ = nullptr;
  uint32_t call_ = 0;
};
