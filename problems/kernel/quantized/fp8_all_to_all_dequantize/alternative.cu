#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
// Copy engines push codes and scales into inboxes of the receivers, all ranks meet, and a kernel dequantises, with
// integer arithmetic instead of the GPU's conversions. Inboxes are used in turn: the one of call e was read in call e -
// 2, before its owner came to the meeting of call e - 1.
using fabricbench::Peers;

constexpr int kThreads = 128;

__global__ void meet(Peers<uint32_t> words, int rank, uint32_t call) {
  using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
  const auto peer = static_cast<int>(threadIdx.x);
  Flag(words.of[peer][rank]).store(call, cuda::memory_order_release);
  while (Flag(words.of[rank][peer]).load(cuda::memory_order_acquire) < call) {
  }
}

// Exponent and mantissa, moved to their places in a float, are the number times 2^(7 - 127), also if it is subnormal.
__device__ float number(uint32_t code) {
  const float modulus = __uint_as_float((code & 0x7f) << 20) * 0x1p120F;
  return (code & 0x80) != 0 ? -modulus : modulus;
}

// Four numbers for each thread.
__global__ void dequantise(const uint32_t* codes, const float* scales, __nv_bfloat162* out, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const uint32_t four = codes[i];
  const float scale = scales[i / 32];
  out[2 * i] = __floats2bfloat162_rn(number(four & 0xff) * scale, number(four >> 8 & 0xff) * scale);
  out[2 * i + 1] = __floats2bfloat162_rn(number(four >> 16 & 0xff) * scale, number(four >> 24) * scale);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        blocks_(args.rows * args.hidden / 128),
        words_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        codes_(rank, 2 * static_cast<size_t>(world_ * blocks_) * 128),
        scales_(rank, 2 * static_cast<size_t>(world_ * blocks_) * sizeof(float)) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t set = (++call_ % 2) * world_ * blocks_;
    for (int step = 1; step <= world_; ++step) {
      const int peer = (rank_ + step) % world_;
      const int64_t from = peer * blocks_, to = set + rank_ * blocks_;
      cudaMemcpyAsync(codes_.at<uint8_t>(peer) + to * 128, args.codes + from * 128, static_cast<size_t>(blocks_) * 128,
                      cudaMemcpyDeviceToDevice, stream);
      cudaMemcpyAsync(scales_.at<float>(peer) + to, args.scales + from, static_cast<size_t>(blocks_) * sizeof(float),
                      cudaMemcpyDeviceToDevice, stream);
    }
    meet<<<1, world_, 0, stream>>>(words_.peers<uint32_t>(), rank_, call_);
    const int64_t threads = world_ * blocks_ * 32;
    dequantise<<<static_cast<unsigned>((threads + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
        codes_.mine<uint32_t>() + set * 32, scales_.mine<float>() + set, reinterpret_cast<__nv_bfloat162*>(args.out),
        threads);
  }

 private:
  int rank_, world_;
  int64_t blocks_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory words_, codes_, scales_;
};
// [/solution]
