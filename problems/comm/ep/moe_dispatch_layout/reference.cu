#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kThreads = 256;
constexpr int kMostBlocks = 16;

// A count travels with the number of its call in one word. Eight aligned bytes are never seen in halves, so a rank that
// sees the call's number has the count: one trip over the link, without a fence and without a flag beside it.
using Word = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;

__device__ void post(uint64_t& word, uint32_t call, int count) {
  Word(word).store(uint64_t{call} << 32 | static_cast<uint32_t>(count), cuda::memory_order_relaxed);
}

__device__ int await(uint64_t& word, uint32_t call) {
  uint64_t seen;
  do {
    seen = Word(word).load(cuda::memory_order_relaxed);
  } while (seen >> 32 != call);
  return static_cast<int>(seen);
}

// Counts of this block's tokens, in shared memory: by expert, then by rank. Writes their rows of to_rank.
__device__ void count_tokens(const Args& args, int world, int* counts) {
  __shared__ uint32_t ranks_of[kThreads];  // a bit for each rank that the token goes to
  const int experts = static_cast<int>(args.experts), local = experts / world, k = static_cast<int>(args.k);
  const int tokens = static_cast<int>(args.tokens), valid = *args.count, lane = threadIdx.x % 32;

  for (int first = blockIdx.x * kThreads; first < tokens; first += gridDim.x * kThreads) {
    const int token = first + static_cast<int>(threadIdx.x);
    uint32_t ranks = 0;
    for (int j = 0; token < valid && j < k; ++j) {
      if (const int expert = args.topk[token * k + j]; expert >= 0) {
        atomicAdd(&counts[expert], 1);
        ranks |= 1u << expert / local;
      }
    }
    for (int r = 0; r < world; ++r) {
      const uint32_t going = __ballot_sync(~0u, ranks >> r & 1);
      if (lane == r && going != 0) atomicAdd(&counts[experts + r], __popc(going));
    }
    ranks_of[threadIdx.x] = ranks;
    __syncthreads();

    // A row has `world` bytes, and threads write words: four neighbours each, whatever rows they are in.
    uint8_t* rows = args.to_rank + int64_t{first} * world;
    const int bytes = min(kThreads, tokens - first) * world;
    const auto goes = [&](int i) { return ranks_of[i / world] >> i % world & 1; };
    for (int i = 4 * static_cast<int>(threadIdx.x); i < bytes; i += 4 * kThreads) {
      if (i + 4 <= bytes) {
        *reinterpret_cast<uint32_t*>(rows + i) = goes(i) | goes(i + 1) << 8 | goes(i + 2) << 16 | goes(i + 3) << 24;
      } else {
        for (int b = i; b < bytes; ++b) rows[b] = static_cast<uint8_t>(goes(b));
      }
    }
    __syncthreads();
  }
}

// The last block to come adds up what all blocks have counted, and talks to the other ranks. The others are gone by
// then: no block waits for one that may not have started.
__global__ void __launch_bounds__(kThreads) make_layout(Args args, Peers<uint64_t> words, int* partial,
                                                        uint32_t* arrivals, int rank, int world, uint32_t call) {
  extern __shared__ int counts[];  // by expert, by rank; then sums over ranks: offset, received
  const int experts = static_cast<int>(args.experts), local = experts / world, kinds = experts + world;
  int* sums = counts + kinds;
  for (int i = threadIdx.x; i < kinds + world + local; i += kThreads) counts[i] = 0;
  __syncthreads();
  count_tokens(args, world, counts);

  for (int i = threadIdx.x; i < kinds; i += kThreads) partial[blockIdx.x * kinds + i] = counts[i];
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    // Release: this block's counts, before the arrival. Acquire: those of all blocks that arrived earlier.
    cuda::atomic_ref<uint32_t, cuda::thread_scope_device> arrived(*arrivals);
    last = arrived.fetch_add(1, cuda::memory_order_acq_rel) % gridDim.x == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;

  for (int i = threadIdx.x; i < kinds; i += kThreads) {
    int sum = 0;
    for (unsigned block = 0; block < gridDim.x; ++block) sum += partial[block * kinds + i];
    counts[i] = sum;
    (i < experts ? args.expert_tokens[i] : args.rank_tokens[i - experts]) = sum;
  }
  __syncthreads();

  // To each rank: our tokens by rank, then by that rank's experts. Two sets of words, used in turn, are enough: a rank
  // that is in call c + 2 had our words of c + 1, and we posted those after we had read all of call c.
  const int message = world + local;
  const size_t set = call % 2 * static_cast<size_t>(world * message);
  for (int i = threadIdx.x; i < world * message; i += kThreads) {
    const int peer = i / message, what = i % message;
    const int count = what < world ? counts[experts + what] : counts[peer * local + what - world];
    post(words.of[peer][set + static_cast<size_t>(rank * message + what)], call, count);
  }
  for (int i = threadIdx.x; i < world * message; i += kThreads) {
    const int source = i / message, what = i % message;
    const int count = await(words.of[rank][set + static_cast<size_t>(i)], call);
    if (source < rank || what >= world) atomicAdd(&sums[what], count);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < message; i += kThreads) {
    (i < world ? args.offset[i] : args.received[i - world]) = sums[i];
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        blocks_(static_cast<int>(std::min<int64_t>(kMostBlocks, (args.tokens + kThreads - 1) / kThreads))),
        kinds_(args.experts + world_),
        message_(world_ + args.experts / world_),
        words_(rank, 2 * static_cast<size_t>(world_ * message_) * sizeof(uint64_t)) {
    const size_t bytes = static_cast<size_t>(blocks_ * kinds_ + 1) * sizeof(int);
    fabricbench::check_cuda(cudaMalloc(&scratch_, bytes), "cudaMalloc");
    fabricbench::check_cuda(cudaMemset(scratch_, 0, bytes), "cudaMemset");
    fabricbench::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  ~Solution() { cudaFree(scratch_); }

  void run(const Args& args, cudaStream_t stream) {
    const size_t shared = static_cast<size_t>(kinds_ + message_) * sizeof(int);
    make_layout<<<blocks_, kThreads, shared, stream>>>(args, words_.peers<uint64_t>(), scratch_ + 1,
                                                       reinterpret_cast<uint32_t*>(scratch_), rank_, world_, ++call_);
  }

 private:
  int rank_, world_, blocks_;
  int64_t kinds_, message_;
  uint32_t call_ = 0;
  int* scratch_ = nullptr;  // arrivals of blocks, then the counts of each
  fabricbench::PeerMemory words_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the count, the exchange, and the sums
//|   }
//| };
// [/solution]
