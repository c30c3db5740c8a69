#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kWarp = 32, kThreads = 512, kWarps = kThreads / kWarp;
constexpr int kBlocks = 32;  // all resident at once: all wait for the count
constexpr int kMostRanks = 8;
static_assert(kBlocks * kMostRanks <= kThreads, "a thread for each block of the node");

// A number on its way: the call's number in the upper half says that the lower one is there. Both are one value, so
// that nothing has to be ordered, and relaxed accesses are enough; at system scope, as the reader is on another GPU.
using Slot = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;

__device__ void send(uint64_t& slot, uint32_t value, uint32_t call) {
  Slot(slot).store(uint64_t{call} << 32 | value, cuda::memory_order_relaxed);
}
__device__ uint32_t receive(uint64_t& slot, uint32_t call) {
  uint64_t bits;
  do {
    bits = Slot(slot).load(cuda::memory_order_relaxed);
  } while (bits >> 32 != call);
  return static_cast<uint32_t>(bits);
}

// On each rank, for both parities of the call: what every block of every rank has found.
struct Slots {
  uint64_t count[2][kMostRanks * kBlocks], sum[2][kMostRanks * kBlocks];
};

// The sum over all threads of the block, for each of them.
template <class T>
__device__ T sum_of_block(T value) {
  __shared__ T of_warp[kWarps];
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  __syncthreads();  // what an earlier call of this function has left there has been read
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  value = lane < kWarps ? of_warp[lane] : T();
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

__device__ float pick(uint8_t mask, float value) { return mask != 0 ? value : 0; }  // a product would keep NaN

// Every block tells all blocks of the node what it has found, and adds up what they tell: one crossing of a link, and
// no step before or behind it to bring the blocks of a rank together.
//
// In call e a rank writes slots that hold numbers of call e - 2. Their owner has read those: before the writer's call
// e - 1 ended, it had received the owner's numbers of call e - 1, which the owner sent in a kernel that its stream
// started after that of call e - 2. So two sets are enough, and no barrier is needed.
__global__ void __launch_bounds__(kThreads)
    mean_of_losses(Peers<Slots> slots, const float* loss, const uint8_t* mask, float* mean_loss, int64_t* count_out,
                   float* dloss, int64_t tokens, int rank, int world, uint32_t call) {
  const int64_t packs = tokens / 4, first = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t threads = int64_t{gridDim.x} * kThreads;
  const int64_t edge = 4 * packs + first;  // one of up to three positions behind the packs
  float sum = 0;
  uint32_t count = 0;
  for (int64_t p = first; p < packs; p += threads) {
    const float4 l = __ldg(reinterpret_cast<const float4*>(loss) + p);
    const uchar4 m = __ldg(reinterpret_cast<const uchar4*>(mask) + p);
    sum += (pick(m.x, l.x) + pick(m.y, l.y)) + (pick(m.z, l.z) + pick(m.w, l.w));
    count += m.x + m.y + m.z + m.w;
  }
  if (edge < tokens) {
    sum += pick(mask[edge], loss[edge]);
    count += mask[edge];
  }
  sum = sum_of_block(sum);
  count = sum_of_block(count);

  const int thread = static_cast<int>(threadIdx.x), blocks = static_cast<int>(gridDim.x);
  const int set = static_cast<int>(call % 2), own = rank * blocks + static_cast<int>(blockIdx.x);
  if (thread < world) {
    send(slots.of[thread]->count[set][own], count, call);
    send(slots.of[thread]->sum[set][own], __float_as_uint(sum), call);
  }
  Slots& mine = *slots.of[rank];
  const bool has_source = thread < world * blocks;
  count = sum_of_block(has_source ? receive(mine.count[set][thread], call) : 0);
  const auto divisor = static_cast<float>(max(count, 1u));

  // The mask is read again: it is in L1.
  const float scale = static_cast<float>(world) / divisor;
  for (int64_t p = first; p < packs; p += threads) {
    const uchar4 m = __ldg(reinterpret_cast<const uchar4*>(mask) + p);
    reinterpret_cast<float4*>(dloss)[p] =
        make_float4(pick(m.x, scale), pick(m.y, scale), pick(m.z, scale), pick(m.w, scale));
  }
  if (edge < tokens) dloss[edge] = pick(mask[edge], scale);

  // All blocks of all ranks wait for the counts of all, which is enough for the sets above. Sums are for one block; it
  // adds them up in the same order on all ranks, which gives the same bits.
  if (blockIdx.x != 0) return;
  sum = sum_of_block(has_source ? __uint_as_float(receive(mine.sum[set][thread], call)) : 0.0F);
  if (thread == 0) {
    *mean_loss = sum / divisor;
    *count_out = count;
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&)
      : rank_(rank.rank()), world_(rank.world()), slots_(rank, sizeof(Slots)) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (args.tokens + 4 * kThreads - 1) / (4 * kThreads)));
    mean_of_losses<<<blocks, kThreads, 0, stream>>>(slots_.peers<Slots>(), args.loss, args.mask, args.mean_loss,
                                                    args.count, args.dloss, args.tokens, rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory slots_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the sums and the gradient
//|   }
//| };
// [/solution]
