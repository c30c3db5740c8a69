// Two kernels: the first adds up this rank's squares and sends the sum to every peer, in one 64-bit word together with
// the number of the call; the second waits for the words of all ranks and scales. Squares of experts are divided by the
// number of replicas, so that a single sum over all ranks has each of them once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
constexpr int kThreads = 256;
constexpr int kMostBlocks = 132;

struct Words {
  uint64_t sum[8];  // of each rank: number of the call in the high half, bits of its sum in the low half
};

struct Scratch {
  float partial[kMostBlocks];  // sums of blocks
  uint32_t blocks;             // blocks that have stored theirs, of all calls
};

// Eight elements at a time, then the rest one by one; f(index, of how many).
template <class F>
__device__ void for_pieces(int64_t elements, F f) {
  const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = first; i < elements / 8; i += stride) f(8 * i, 8);
  for (int64_t i = elements / 8 * 8 + first; i < elements; i += stride) f(i, 1);
}

__device__ float squares(const __nv_bfloat16* x, int64_t elements) {
  float sum = 0;
  for_pieces(elements, [&](int64_t at, int count) {
    __align__(16) __nv_bfloat16 piece[8];
    if (count == 8) {
      *reinterpret_cast<uint4*>(piece) = *reinterpret_cast<const uint4*>(x + at);
    } else {
      piece[0] = x[at];
    }
    for (int j = 0; j < count; ++j) {
      const float value = __bfloat162float(piece[j]);
      sum += value * value;
    }
  });
  return sum;
}

__device__ void scale_all(const __nv_bfloat16* x, __nv_bfloat16* y, int64_t elements, float divisor, float factor) {
  for_pieces(elements, [&](int64_t at, int count) {
    __align__(16) __nv_bfloat16 piece[8];
    if (count == 8) {
      *reinterpret_cast<uint4*>(piece) = *reinterpret_cast<const uint4*>(x + at);
    } else {
      piece[0] = x[at];
    }
    // Divisors are powers of two: exact. So there is one rounding to float, and one to bf16.
    for (int j = 0; j < count; ++j) piece[j] = __float2bfloat16_rn(__bfloat162float(piece[j]) / divisor * factor);
    if (count == 8) {
      *reinterpret_cast<uint4*>(y + at) = *reinterpret_cast<const uint4*>(piece);
    } else {
      y[at] = piece[0];
    }
  });
}

// In thread 0.
__device__ float block_sum(float value) {
  __shared__ float of_warp[kThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0;
  if (threadIdx.x == 0) {
    for (const float part : of_warp) value += part;
  }
  return value;
}

__global__ void add_squares(Args args, Scratch* scratch, fabricbench::Peers<Words> peers, int rank, int world,
                            uint32_t call) {
  float sum = squares(args.dense_grad, args.dense);
  const float replicas = static_cast<float>(world / args.ep);
  const float ep = static_cast<float>(args.ep);
  sum += squares(args.expert_grad, args.expert) / (ep * ep * replicas);
  sum = block_sum(sum);
  if (threadIdx.x != 0) return;

  // Acquire and release at device scope: the block that comes last reads what the others have stored before.
  scratch->partial[blockIdx.x] = sum;
  cuda::atomic_ref<uint32_t, cuda::thread_scope_device> blocks(scratch->blocks);
  if (blocks.fetch_add(1, cuda::memory_order_acq_rel) + 1 != call * gridDim.x) return;
  float total = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) total += scratch->partial[block];

  // The sum travels in the word that says that it is there, and nothing else is read behind it: relaxed is enough.
  const uint64_t word = uint64_t{call} << 32 | __float_as_uint(total);
  for (int peer = 0; peer < world; ++peer) {
    cuda::atomic_ref<uint64_t, cuda::thread_scope_system>(peers.of[peer]->sum[rank])
        .store(word, cuda::memory_order_relaxed);
  }
}

__global__ void scale(Args args, Words* words, int world, uint32_t call) {
  __shared__ float sums[8];
  if (static_cast<int>(threadIdx.x) < world) {
    cuda::atomic_ref<uint64_t, cuda::thread_scope_system> arrived(words->sum[threadIdx.x]);
    uint64_t word = arrived.load(cuda::memory_order_relaxed);
    while (word >> 32 != call) word = arrived.load(cuda::memory_order_relaxed);
    sums[threadIdx.x] = __uint_as_float(static_cast<uint32_t>(word));
  }
  __syncthreads();
  // In the order of ranks, so that all ranks get the same norm.
  float sum = 0;
  for (int r = 0; r < world; ++r) sum += sums[r];
  const float norm = sqrtf(sum);
  if (blockIdx.x == 0 && threadIdx.x == 0) *args.norm = norm;
  const float factor = fminf(1.0f, *args.max_norm / (norm + 1e-6f));
  scale_all(args.dense_grad, args.dense_clipped, args.dense, 1.0f, factor);
  scale_all(args.expert_grad, args.expert_clipped, args.expert, static_cast<float>(args.ep), factor);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&)
      : rank_(rank.rank()), world_(rank.world()), words_(rank, 2 * sizeof(Words)) {
    fabricbench::check_cuda(cudaMalloc(&scratch_, sizeof(Scratch)), "cudaMalloc");
    fabricbench::check_cuda(cudaMemset(scratch_, 0, sizeof(Scratch)), "cudaMemset");
    fabricbench::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  ~Solution() { cudaFree(scratch_); }

  void run(const Args& args, cudaStream_t stream) {
    ++call_;
    // A peer sends the words of the next call while blocks here may still wait for this one's, but not those of the
    // call behind it: for that it needs this rank's sum of the next call. So two sets of words are enough.
    const size_t set = call_ % 2 * sizeof(Words);
    const int64_t pieces = (args.dense + args.expert) / 8 + 1;
    const int blocks = static_cast<int>(std::min<int64_t>(kMostBlocks, (pieces + kThreads - 1) / kThreads));
    add_squares<<<blocks, kThreads, 0, stream>>>(args, scratch_, words_.peers<Words>(set), rank_, world_, call_);
    scale<<<blocks, kThreads, 0, stream>>>(args, words_.mine<Words>(set), world_, call_);
  }

 private:
  int rank_;
  int world_;
  fabricbench::PeerMemory words_;
  Scratch* scratch_ = nullptr;
  uint32_t call_ = 0;
};
// [/solution]
