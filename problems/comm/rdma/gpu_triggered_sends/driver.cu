#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include "args.h"

// [interface]
// Two boxes of tiles in the memory of this rank's GPU. The tile of a channel and a step begins at byte
// (step * channels + channel) * tile_bytes of either.
struct Boxes {
  const void* outbox;  // tiles that this rank computes, for the next rank
  void* inbox;         // where tiles of the rank before must come
  int channels, steps;
  int64_t tile_bytes;  // a multiple of 4
};
// [/interface]

namespace proof {

struct Shape {
  int channels, steps, words;
};

// A block is a channel. Each step computes a tile from the input and from the tile that has come in the step before, so
// that no step can begin before the last one has crossed the network.
template <class Port>
__global__ void exchange(Port port, Shape shape, const uint32_t* in, uint32_t* outbox, const uint32_t* inbox,
                         uint32_t* out) {
  const auto channel = static_cast<int>(blockIdx.x), threads = static_cast<int>(blockDim.x);
  for (int step = 0; step < shape.steps; ++step) {
    const int64_t tile = (int64_t{step} * shape.channels + channel) * shape.words;
    const int64_t last = tile - int64_t{shape.channels} * shape.words;
    for (int i = static_cast<int>(threadIdx.x); i < shape.words; i += threads) {
      outbox[tile + i] = in[tile + i] + (step > 0 ? 31 * inbox[last + i] : 0);
    }
    __syncthreads();  // the tile of all threads, before one of them sends it
    if (threadIdx.x == 0) {
      port.send(channel, step);
      port.wait(channel, step);
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < shape.words; i += threads) out[tile + i] = inbox[tile + i];
  }
}

}  // namespace proof

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : shape_{static_cast<int>(args.channels), static_cast<int>(args.steps), static_cast<int>(args.words)},
        outbox_(bytes()),
        inbox_(bytes()),
        solution_(rank,
                  Boxes{outbox_.memory, inbox_.memory, shape_.channels, shape_.steps, int64_t{4} * shape_.words}) {}

  void run(const Args& args, cudaStream_t stream) {
    proof::exchange<typename Solution::Port><<<shape_.channels, kThreads, 0, stream>>>(
        solution_.begin(), shape_, args.in, outbox_.memory, inbox_.memory, args.out);
    fabricbench::check_cuda(cudaGetLastError(), "launch");
    solution_.serve();
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  static constexpr int kThreads = 256;

  struct Box {
    explicit Box(size_t bytes) {
      fabricbench::check_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
      fabricbench::check_cuda(cudaMemset(memory, 0, bytes), "cudaMemset");
      fabricbench::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    ~Box() { cudaFree(memory); }
    Box(const Box&) = delete;
    Box& operator=(const Box&) = delete;
    uint32_t* memory = nullptr;
  };
  size_t bytes() const { return size_t{4} * shape_.channels * shape_.steps * shape_.words; }

  proof::Shape shape_;
  Box outbox_, inbox_;
  Solution solution_;
};
