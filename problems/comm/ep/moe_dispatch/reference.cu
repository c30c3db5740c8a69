#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
constexpr int kMostWorld = 8;
constexpr int kWarps = 4, kThreads = 32 * kWarps;
// All resident at once: they wait for blocks of other ranks. Few tokens are spread over many blocks, because each
// multiprocessor can have only so much on its way to other GPUs.
constexpr int kMostBlocks = 32;

template <class T>
using Shared = cuda::atomic_ref<T, cuda::thread_scope_system>;  // with other ranks

// Memory of one rank that others write.
struct Inbox {
  __nv_bfloat16* x;
  int* token;
  int* topk;
  float* weight;
  uint64_t* words;  // counts, each with the number of its call: [call % 2][source][message]
  uint32_t* done;   // [block][source]: the last call in which the source's block has sent everything
};
struct Inboxes {
  Inbox of[kMostWorld];
};

// A bit for each rank that owns an expert of the token.
__device__ uint32_t ranks_of(const Args& args, int token, int local) {
  uint32_t ranks = 0;
  for (int j = 0; j < args.k; ++j) {
    const int expert = args.topk[token * args.k + j];
    if (expert >= 0) ranks |= 1u << expert / local;
  }
  return ranks;
}

// Adds to tokens_to[r] how many of the first `end` tokens go to rank r.
__device__ void count_ranks(const Args& args, int end, int local, int world, int* tokens_to) {
  const int lane = threadIdx.x % 32;
  for (int first = static_cast<int>(threadIdx.x) - lane; first < end; first += kThreads) {
    const uint32_t ranks = first + lane < end ? ranks_of(args, first + lane, local) : 0;
    for (int r = 0; r < world; ++r) {
      const uint32_t going = __ballot_sync(~0u, ranks >> r & 1);
      if (lane == r && going != 0) atomicAdd(&tokens_to[r], __popc(going));
    }
  }
}

// Tells every rank how many tokens go from here to each rank, and to each of its experts. Eight bytes are never seen in
// halves, so a word with the call's number has the call's count. It also says that this rank is in the call, its
// outputs of the last one are taken: therefore the fence, which puts that before whatever the reader writes here. One
// fence and relaxed stores, not a release in each of them: those would wait for each other.
//
// One set of words is enough: a rank announces call c + 1 after its kernel of call c has ended, so all our blocks had
// said by then that they had sent their tokens of call c, and they read their words before they send.
__device__ void announce(const Args& args, const Inboxes& inboxes, int rank, int world, uint32_t call) {
  extern __shared__ int counts[];
  int* expert_tokens = counts;
  __shared__ int rank_tokens[kMostWorld];
  const int experts = static_cast<int>(args.experts), local = experts / world, message = world + local,
            valid = *args.count;
  for (int i = threadIdx.x; i < experts; i += kThreads) expert_tokens[i] = 0;
  if (threadIdx.x < kMostWorld) rank_tokens[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < valid * static_cast<int>(args.k); i += kThreads) {
    if (const int expert = args.topk[i]; expert >= 0) atomicAdd(&expert_tokens[expert], 1);
  }
  count_ranks(args, valid, local, world, rank_tokens);
  __syncthreads();
  cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
  for (int i = threadIdx.x; i < world * message; i += kThreads) {
    const int peer = i / message, what = i % message;
    const int count = what < world ? rank_tokens[what] : expert_tokens[peer * local + what - world];
    Shared<uint64_t>(inboxes.of[peer].words[rank * message + what])
        .store(uint64_t{call} << 32 | static_cast<uint32_t>(count), cuda::memory_order_relaxed);
  }
}

__device__ int await(uint64_t& word, uint32_t call) {
  uint64_t seen;
  do {
    seen = Shared<uint64_t>(word).load(cuda::memory_order_acquire);
  } while (seen >> 32 != call);
  return static_cast<int>(seen);
}

// A warp reads one token once and writes it to all its ranks. row[r]: where it goes at rank r.
__device__ void send_token(const Args& args, const Inboxes& inboxes, int token, uint32_t ranks, const int* row,
                           int local, int rank, int world) {
  constexpr int kAtOnce = 4;  // loads under way in each lane
  const int lane = threadIdx.x % 32, vectors = static_cast<int>(args.hidden / 8), k = static_cast<int>(args.k);
  const auto* from = reinterpret_cast<const uint4*>(args.x) + int64_t{token} * vectors;
  for (int first = lane; first < vectors; first += 32 * kAtOnce) {
    uint4 part[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      part[i] = first + 32 * i < vectors ? from[first + 32 * i] : uint4{};
    }
    // Ranks start with their right neighbour, so that not all of them send to rank 0 first.
    for (int step = 1; step <= world; ++step) {
      const int to = rank + step < world ? rank + step : rank + step - world;
      if ((ranks >> to & 1) == 0) continue;
      auto* there = reinterpret_cast<uint4*>(inboxes.of[to].x) + int64_t{row[to]} * vectors;
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + 32 * i < vectors) there[first + 32 * i] = part[i];
      }
    }
  }
  for (int i = lane; i < world * k; i += 32) {
    const int to = i / k, j = i % k;
    if ((ranks >> to & 1) == 0) continue;
    const int expert = args.topk[token * k + j];
    const bool owned = expert >= 0 && expert / local == to;
    inboxes.of[to].topk[row[to] * k + j] = owned ? expert - to * local : -1;
    inboxes.of[to].weight[row[to] * k + j] = owned ? args.weight[token * k + j] : 0;
    if (j == 0) inboxes.of[to].token[row[to]] = token;
  }
}

__global__ void __launch_bounds__(kThreads) dispatch(Args args, Inboxes inboxes, int rank, int world, uint32_t call) {
  const int local = static_cast<int>(args.experts) / world, message = world + local, valid = *args.count;
  const Inbox& mine = inboxes.of[rank];
  if (blockIdx.x == 0) announce(args, inboxes, rank, world, call);

  // This block's tokens go behind those of earlier ranks and those of earlier blocks. Routing is small: every block
  // counts its predecessors' tokens itself instead of waiting for them, while the words are on their way.
  const int share = (static_cast<int>(args.tokens) + gridDim.x - 1) / gridDim.x;
  const int first = min(static_cast<int>(blockIdx.x) * share, valid), last = min(first + share, valid);
  __shared__ int start[kMostWorld], came_from[kMostWorld];
  extern __shared__ int counts[];
  int* received = counts + args.experts;  // by our experts
  if (threadIdx.x < kMostWorld) start[threadIdx.x] = 0;
  for (int e = threadIdx.x; e < local; e += kThreads) received[e] = 0;
  __syncthreads();
  count_ranks(args, first, local, world, start);
  // A word of every rank is also the permission to write there. What our experts get concerns one block only: the last,
  // which has the shortest share.
  const bool sums_up = blockIdx.x == gridDim.x - 1;
  for (int i = threadIdx.x; i < world * message; i += kThreads) {
    const int source = i / message, what = i % message;
    if (what >= world && !sums_up) continue;
    const int count = await(mine.words[i], call);
    if (what >= world) atomicAdd(&received[what - world], count);
    if (what < world && source < rank) atomicAdd(&start[what], count);
    if (what == rank) came_from[source] = count;
  }
  __syncthreads();

  // 32 tokens at a time: lane r keeps the next row at rank r, and which of the tokens go there.
  __shared__ int rows[kWarps][kMostWorld];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int next = lane < world ? start[lane] : 0;
  for (int group = first; group < last; group += 32) {
    const uint32_t ranks = group + lane < last ? ranks_of(args, group + lane, local) : 0;
    uint32_t going = 0;
    for (int r = 0; r < world; ++r) {
      const uint32_t to_r = __ballot_sync(~0u, ranks >> r & 1);
      if (lane == r) going = to_r;
    }
    for (int j = warp; j < min(32, last - group); j += kWarps) {
      if (lane < world) rows[warp][lane] = next + __popc(going & ((1u << j) - 1));
      __syncwarp();
      send_token(args, inboxes, group + j, __shfl_sync(~0u, ranks, j), rows[warp], local, rank, world);
      __syncwarp();
    }
    next += __popc(going);
  }

  // Block b has sent: the barrier orders all threads' stores before the fence, and that before the flags.
  __syncthreads();
  if (const int peer = threadIdx.x; peer < world) {
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
    Shared<uint32_t>(inboxes.of[peer].done[blockIdx.x * world + rank]).store(call, cuda::memory_order_relaxed);
  }
  if (sums_up) {
    for (int e = threadIdx.x; e < local; e += kThreads) args.expert_count[e] = received[e];
    for (int r = threadIdx.x; r <= world; r += kThreads) {
      int sum = 0;
      for (int source = 0; source < r; ++source) sum += came_from[source];
      args.recv_from[r] = sum;
    }
  }
  // Block b of all ranks has sent to us: over all blocks, our outputs are complete, and no rank writes them until we
  // announce the next call.
  if (const int peer = threadIdx.x; peer < world) {
    while (Shared<uint32_t>(mine.done[blockIdx.x * world + peer]).load(cuda::memory_order_acquire) < call) {
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        blocks_(static_cast<int>(std::min<int64_t>(kMostBlocks, args.tokens))),
        x_(rank, args.recv_x),
        token_(rank, args.recv_token),
        topk_(rank, args.recv_topk),
        weight_(rank, args.recv_weight),
        words_(rank, static_cast<size_t>(world_ * (world_ + args.experts / world_)) * sizeof(uint64_t)),
        done_(rank, static_cast<size_t>(blocks_ * world_) * sizeof(uint32_t)) {
    for (int r = 0; r < world_; ++r) {
      inboxes_.of[r] = {x_.at<__nv_bfloat16>(r), token_.at<int>(r),      topk_.at<int>(r),
                        weight_.at<float>(r),    words_.at<uint64_t>(r), done_.at<uint32_t>(r)};
    }
  }

  void run(const Args& args, cudaStream_t stream) {
    const size_t shared = static_cast<size_t>(args.experts + args.experts / world_) * sizeof(int);
    dispatch<<<blocks_, kThreads, shared, stream>>>(args, inboxes_, rank_, world_, ++call_);
  }

 private:
  int rank_, world_, blocks_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory x_, token_, topk_, weight_, words_, done_;
  Inboxes inboxes_{};
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the dispatch
//|   }
//| };
// [/solution]
