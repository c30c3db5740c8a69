// Pushes: one kernel quantises this rank's rows and stores codes and scales into the outputs of all ranks. It waits
// before, until their owners have begun this call, and behind, until what peers store here has arrived.
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
constexpr int kThreads = 256;
constexpr int kLanes = 8;  // that share a block of 128 numbers, 16 each

struct Flags {
  uint32_t begun[8];   // the last call that each rank has begun
  uint32_t stored[8];  // the last call in which each rank has stored all that belongs here
  uint32_t blocks;     // blocks of this GPU that have stored everything, of all calls
};

using SystemFlag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

__global__ void quantise(Args args, fabricbench::Peers<Flags> flags, fabricbench::Peers<uint8_t> codes,
                         fabricbench::Peers<float> scales, int rank, int world, uint32_t call) {
  Flags& mine = *flags.of[rank];
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < world) {
    // Release: what happened to this rank's outputs before this kernel comes before the peer's stores.
    if (blockIdx.x == 0) SystemFlag(flags.of[thread]->begun[rank]).store(call, cuda::memory_order_release);
    // Acquire, in each block: its stores into the peer's outputs come after their owner has begun.
    SystemFlag flag(mine.begun[thread]);
    while (flag.load(cuda::memory_order_acquire) < call) {
    }
  }
  __syncthreads();

  const int64_t blocks = args.rows * args.hidden / 128;
  const int64_t stride = int64_t{gridDim.x} * (kThreads / kLanes);
  const int lane = thread % kLanes;
  // The bound is that of the whole warp: all of its lanes take part in the shuffles.
  for (int64_t first = int64_t{blockIdx.x} * (kThreads / kLanes) + thread / 32 * 4; first < blocks; first += stride) {
    const int64_t block = first + thread % 32 / kLanes;
    const int64_t at = block * 128 + lane * 16;
    const bool valid = block < blocks;
    __align__(16) __nv_bfloat16 x[16] = {};
    if (valid) {
      const uint4* from = reinterpret_cast<const uint4*>(args.x + at);
      reinterpret_cast<uint4*>(x)[0] = from[0];
      reinterpret_cast<uint4*>(x)[1] = from[1];
    }
    float largest = 0;
#pragma unroll
    for (int j = 0; j < 16; ++j) largest = fmaxf(largest, fabsf(__bfloat162float(x[j])));
    for (int other = 1; other < kLanes; other *= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, other));
    const float scale = __fdiv_rn(largest, 448.0f);
    const float divisor = largest == 0 ? 1.0f : scale;
    uint32_t code[4] = {};
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      const float quotient = __fdiv_rn(__bfloat162float(x[j]), divisor);
      code[j / 4] |= uint32_t{__nv_cvt_float_to_fp8(quotient, __NV_SATFINITE, __NV_E4M3)} << j % 4 * 8;
    }
    const uint4 packed = make_uint4(code[0], code[1], code[2], code[3]);
    if (!valid) continue;
    for (int step = 0; step < world; ++step) {
      const int peer = (rank + step) % world;
      *reinterpret_cast<uint4*>(codes.of[peer] + rank * blocks * 128 + at) = packed;
      if (lane == 0) scales.of[peer][rank * blocks + block] = scale;
    }
  }

  // The last block of this GPU: __syncthreads and the counter (acquire and release, at device scope) put the stores of
  // all threads of all blocks before its flags, whose release at system scope carries them to the peers.
  __shared__ bool last;
  __syncthreads();
  if (thread == 0) {
    cuda::atomic_ref<uint32_t, cuda::thread_scope_device> counter(mine.blocks);
    last = counter.fetch_add(1, cuda::memory_order_acq_rel) + 1 == call * gridDim.x;
  }
  __syncthreads();
  if (last && thread < world) {
    SystemFlag(flags.of[thread]->stored[rank]).store(call, cuda::memory_order_release);
    SystemFlag arrived(mine.stored[thread]);
    while (arrived.load(cuda::memory_order_acquire) < call) {
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        flags_(rank, sizeof(Flags)),
        codes_(rank, args.codes),
        scales_(rank, args.scales) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t lanes = args.rows * args.hidden / 16;
    const int blocks = static_cast<int>(std::min<int64_t>(132, (lanes + kThreads - 1) / kThreads));
    quantise<<<blocks, kThreads, 0, stream>>>(args, flags_.peers<Flags>(), codes_.peers<uint8_t>(),
                                              scales_.peers<float>(), rank_, world_, ++call_);
  }

 private:
  int rank_;
  int world_;
  fabricbench::PeerMemory flags_;
  fabricbench::PeerMemory codes_;
  fabricbench::PeerMemory scales_;
  uint32_t call_ = 0;
};
// [/solution]
