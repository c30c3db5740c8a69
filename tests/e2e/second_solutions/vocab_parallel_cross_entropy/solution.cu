// One kernel: a block reads a row of this rank's logits once, and sends the logarithm of its sum and the target's logit
// to all ranks as words of 8 bytes that carry the number of the call themselves, so that no fence is needed. Every rank
// merges the words of all ranks.

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;
constexpr int kMostBlocks = 132;  // all are resident: one for each multiprocessor
constexpr unsigned kAll = 0xffffffffu;

// The sum of exponentials of some logits, relative to the largest of them.
struct Part {
  float most;
  float sum;
};

__device__ Part merge(Part a, Part b) {
  const float most = fmaxf(a.most, b.most);
  if (most == -INFINITY) return {most, 0.0f};  // both are empty
  return {most, a.sum * __expf(a.most - most) + b.sum * __expf(b.most - most)};
}

// The memory of each rank: words [call % 2][source][row][which], which = 0 for the logarithm of the source's sum, 1 for
// the target's logit. The low half is the number of the call, the high half the float.
using Word = unsigned long long;

__device__ void send(Word* word, float value, uint32_t call) {
  // Relaxed: number and value are one access of 8 bytes, so a thread that sees the number sees the value. System scope:
  // the reader is another GPU.
  cuda::atomic_ref<Word, cuda::thread_scope_system>(*word).store(static_cast<Word>(__float_as_uint(value)) << 32 | call,
                                                                 cuda::memory_order_relaxed);
}

__device__ float receive(Word* word, uint32_t call) {
  cuda::atomic_ref<Word, cuda::thread_scope_system> words(*word);
  Word seen = words.load(cuda::memory_order_relaxed);
  while (static_cast<uint32_t>(seen) != call) seen = words.load(cuda::memory_order_relaxed);
  return __uint_as_float(static_cast<uint32_t>(seen >> 32));
}

__global__ void __launch_bounds__(kThreads)
    cross_entropy(Args args, fabricbench::Peers<Word> peers, int rank, int world, uint32_t call) {
  __shared__ Part parts[2][kWarps];  // of even and odd rows of this block
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t vectors = args.vocab / 8;
  int turn = 0;
  for (int64_t row = blockIdx.x; row < args.tokens; row += gridDim.x, turn ^= 1) {
    const __nv_bfloat16* logits = args.logits + row * args.vocab;
    Part part{-INFINITY, 0.0f};
    for (int64_t i = threadIdx.x; i < vectors; i += kThreads) {
      const uint4 eight = reinterpret_cast<const uint4*>(logits)[i];
      const uint32_t pairs[4] = {eight.x, eight.y, eight.z, eight.w};
      float x[8];
      float most = part.most;
      for (int j = 0; j < 8; ++j) {
        x[j] = __uint_as_float(j % 2 == 0 ? pairs[j / 2] << 16 : pairs[j / 2] & 0xffff0000u);
        most = fmaxf(most, x[j]);
      }
      float sum = part.sum * __expf(part.most - most);  // exp(-inf) = 0 at first
      for (int j = 0; j < 8; ++j) sum += __expf(x[j] - most);
      part = {most, sum};
    }
    for (int distance = 16; distance > 0; distance /= 2) {
      part = merge(part, {__shfl_xor_sync(kAll, part.most, distance), __shfl_xor_sync(kAll, part.sum, distance)});
    }
    if (lane == 0) parts[turn][warp] = part;
    __syncthreads();
    // Other warps go on with the next row, whose parts have another place; at its barrier they wait for this warp
    // again.
    if (warp > 0) continue;

    part = lane < kWarps ? parts[turn][lane] : Part{-INFINITY, 0.0f};
    for (int distance = 16; distance > 0; distance /= 2) {
      part = merge(part, {__shfl_xor_sync(kAll, part.most, distance), __shfl_xor_sync(kAll, part.sum, distance)});
    }
    const int target = args.target[row];
    const int owner = static_cast<int>(target / args.vocab);
    float log_sum = -INFINITY;
    float logit = 0.0f;
    if (lane < world) {
      // Words of this parity were read two calls ago. Since then this rank has seen, in the last call, words that their
      // reader sent in a later kernel than that.
      const int64_t first = call % 2 * world * args.tokens * 2;
      Word* theirs = peers.of[lane] + first + (rank * args.tokens + row) * 2;
      send(theirs, part.most + __logf(part.sum), call);
      if (owner == rank) send(theirs + 1, __bfloat162float(logits[target - owner * args.vocab]), call);
      Word* mine = peers.of[rank] + first + (lane * args.tokens + row) * 2;
      log_sum = receive(mine, call);
      if (owner == lane) logit = receive(mine + 1, call);
    }
    float most = log_sum;
    for (int distance = 16; distance > 0; distance /= 2) most = fmaxf(most, __shfl_xor_sync(kAll, most, distance));
    float sum = __expf(log_sum - most);
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(kAll, sum, distance);
    logit = __shfl_sync(kAll, logit, owner);
    if (lane == 0) args.loss[row] = most + __logf(sum) - logit;
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        memory_(rank, sizeof(Word) * 2 * 2 * static_cast<size_t>(rank.world()) * static_cast<size_t>(args.tokens)) {}

  void run(const Args& args, cudaStream_t stream) {
    const int blocks = static_cast<int>(std::min<int64_t>(args.tokens, kMostBlocks));
    cross_entropy<<<blocks, kThreads, 0, stream>>>(args, memory_.peers<Word>(), rank_, world_, ++call_);
  }

 private:
  int rank_;
  int world_;
  fabricbench::PeerMemory memory_;
  uint32_t call_ = 0;
};
// [/solution]
