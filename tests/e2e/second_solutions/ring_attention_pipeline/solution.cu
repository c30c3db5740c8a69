// One kernel pulls the keys and values of all ranks of the stage into a buffer of this rank; a second one has a block
// for each token and head, which waits for its micro-batch, computes attention over all keys and stores the result into
// a buffer of the next stage, too. Each micro-batch has a flag, and the next stage says when its buffer is free again.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cmath>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <algorithm>

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr int kHead = 64;  // numbers of a head
constexpr uint32_t kSets = 2;

using SystemFlag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
using DeviceCounter = cuda::atomic_ref<uint32_t, cuda::thread_scope_device>;

struct Flags {
  uint32_t begun[8];   // the last call that each rank of the stage has begun
  uint32_t pulled[8];  // the last call in which each rank of the stage has read this rank's keys and values
  uint32_t consumed;   // the last call whose micro-batches the next stage has read
  uint32_t blocks;     // of pull, that have ended, of all calls
  uint32_t batches;    // micro-batches that are done, of all calls
};

// Counters of a micro-batch.
struct Batch {
  uint32_t arrived;  // the last call whose micro-batch is in this rank's buffer
  uint32_t blocks;   // of attend, that have ended, of all calls
};

__device__ void wait_for(uint32_t& word, uint32_t call) {
  SystemFlag flag(word);
  while (static_cast<int32_t>(flag.load(cuda::memory_order_acquire) - call) < 0) {
  }
}

// gathered: [2][cp][keys][heads][64], keys and then values.
__global__ void pull(fabricbench::Peers<const uint4> k, fabricbench::Peers<const uint4> v,
                     fabricbench::Peers<Flags> flags, uint4* gathered, int64_t vectors, int rank, int cp,
                     uint32_t call) {
  const int first = rank / cp * cp;  // rank of this stage
  const int thread = static_cast<int>(threadIdx.x);
  Flags& mine = *flags.of[rank];
  // Release and acquire at system scope: keys and values were written before their owner's call, and are read behind.
  if (thread < cp) {
    if (blockIdx.x == 0)
      SystemFlag(flags.of[first + thread]->begun[rank - first]).store(call, cuda::memory_order_release);
    wait_for(mine.begun[thread], call);
  }
  __syncthreads();
  for (int step = 0; step < cp; ++step) {
    const int c = (rank - first + step) % cp;
    const int64_t stride = int64_t{gridDim.x} * blockDim.x;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + thread; i < vectors; i += stride) {
      gathered[c * vectors + i] = k.of[first + c][i];
      gathered[(cp + c) * vectors + i] = v.of[first + c][i];
    }
  }
  // The last block: __syncthreads and the counter put the loads of all blocks before its flags, and their release
  // before the end of their owner's call, behind which its tensors change.
  __shared__ bool last;
  __syncthreads();
  if (thread == 0) {
    last = DeviceCounter(mine.blocks).fetch_add(1, cuda::memory_order_acq_rel) + 1 == call * gridDim.x;
  }
  __syncthreads();
  if (last && thread < cp) {
    SystemFlag(flags.of[first + thread]->pulled[rank - first]).store(call, cuda::memory_order_release);
    wait_for(mine.pulled[thread], call);
  }
}

// In all threads.
template <class F>
__device__ float over_block(float value, float* of_warp, F f) {
  for (int offset = 16; offset > 0; offset /= 2) value = f(value, __shfl_xor_sync(~0u, value, offset));
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warp[0];
  for (int warp = 1; warp < kWarps; ++warp) value = f(value, of_warp[warp]);
  return value;
}

// Where a rank gets its micro-batches from and takes them to; null at the ends of the pipeline.
struct Links {
  Flags* flags;
  Flags* flags_before;
  Batch* batches;
  Batch* batches_behind;
  const __nv_bfloat16* in;
  __nv_bfloat16* in_behind;
};

__global__ void attend(Args args, Links links, const __nv_bfloat16* gathered, uint32_t call) {
  __shared__ float query[kHead];
  __shared__ float weights[kThreads];
  __shared__ float of_warp[kWarps];
  __shared__ float2 parts[kWarps][kHead / 2];
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int64_t m = blockIdx.y;
  const int64_t head = blockIdx.x % args.heads;
  const int64_t at = (m * gridDim.x + blockIdx.x) * kHead;  // gridDim.x: tokens * heads
  if (thread == 0) {
    // Acquire: the stage before has stored this micro-batch.
    if (links.flags_before) wait_for(links.batches[m].arrived, call);
    // Acquire: the next stage has read what was in the same set before, kSets calls ago.
    if (links.in_behind) wait_for(links.flags->consumed, call > kSets ? call - kSets : 0);
  }
  __syncthreads();
  if (thread < kHead) query[thread] = __bfloat162float(links.in[at + thread]);
  __syncthreads();

  const int64_t keys = args.cp * args.keys;
  const int64_t step = args.heads * kHead;  // from key to key
  const __nv_bfloat16* k = gathered + head * kHead;
  const __nv_bfloat16* v = k + keys * step;
  float largest = -INFINITY;
  float total = 0;
  float2 sum = {0, 0};  // of this warp's keys, numbers 2 * lane and 2 * lane + 1
  for (int64_t first = 0; first < keys; first += kThreads) {
    float score = -INFINITY;
    if (first + thread < keys) {
      const auto* row = reinterpret_cast<const __nv_bfloat162*>(k + (first + thread) * step);
      score = 0;
#pragma unroll 8
      for (int d = 0; d < kHead / 2; ++d) {
        const float2 pair = __bfloat1622float2(row[d]);
        score += pair.x * query[2 * d] + pair.y * query[2 * d + 1];
      }
      score *= 0.125f;  // 1 / sqrt(64)
    }
    const float larger = fmaxf(largest, over_block(score, of_warp, [](float a, float b) { return fmaxf(a, b); }));
    const float weight = __expf(score - larger);
    weights[thread] = weight;
    // What was added up before has weights by the largest score so far.
    const float rescale = __expf(largest - larger);
    total = total * rescale + over_block(weight, of_warp, [](float a, float b) { return a + b; });
    sum.x *= rescale;
    sum.y *= rescale;
    largest = larger;
    const int count = static_cast<int>(min(int64_t{kThreads}, keys - first));
    for (int j = warp; j < count; j += kWarps) {
      const auto* row = reinterpret_cast<const __nv_bfloat162*>(v + (first + j) * step);
      const float2 pair = __bfloat1622float2(row[lane]);
      sum.x += weights[j] * pair.x;
      sum.y += weights[j] * pair.y;
    }
  }
  parts[warp][lane] = sum;
  __syncthreads();
  if (warp == 0) {
    for (int other = 1; other < kWarps; ++other) {
      sum.x += parts[other][lane].x;
      sum.y += parts[other][lane].y;
    }
    const __nv_bfloat162 result =
        __floats2bfloat162_rn(query[2 * lane] + sum.x / total, query[2 * lane + 1] + sum.y / total);
    reinterpret_cast<__nv_bfloat162*>(args.y + at)[lane] = result;
    if (links.in_behind) reinterpret_cast<__nv_bfloat162*>(links.in_behind + at)[lane] = result;
  }

  // The last block of a micro-batch tells the next stage, that of the last micro-batch the stage before. The counters
  // (acquire and release, at device scope) put the stores and loads of all blocks before these flags.
  __syncthreads();
  if (thread != 0) return;
  DeviceCounter blocks(links.batches[m].blocks);
  if (blocks.fetch_add(1, cuda::memory_order_acq_rel) + 1 != call * gridDim.x) return;
  if (links.in_behind) SystemFlag(links.batches_behind[m].arrived).store(call, cuda::memory_order_release);
  DeviceCounter batches(links.flags->batches);
  if (batches.fetch_add(1, cuda::memory_order_acq_rel) + 1 != call * gridDim.y) return;
  if (links.flags_before) SystemFlag(links.flags_before->consumed).store(call, cuda::memory_order_release);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        set_(args.batches * args.tokens * args.heads * kHead),
        flags_(rank, sizeof(Flags)),
        batches_(rank, sizeof(Batch) * static_cast<size_t>(args.batches)),
        in_(rank, sizeof(__nv_bfloat16) * kSets * static_cast<size_t>(set_)),
        k_(rank, args.k),
        v_(rank, args.v) {
    const auto bytes = sizeof(__nv_bfloat16) * static_cast<size_t>(2 * args.cp * args.keys * args.heads * kHead);
    fabricbench::check_cuda(cudaMalloc(&gathered_, bytes), "cudaMalloc");
  }
  ~Solution() { cudaFree(gathered_); }

  void run(const Args& args, cudaStream_t stream) {
    ++call_;
    const int cp = static_cast<int>(args.cp);
    const int64_t vectors = args.keys * args.heads * kHead / 8;
    const int blocks = static_cast<int>(std::min<int64_t>(132, (vectors + kThreads - 1) / kThreads));
    pull<<<blocks, kThreads, 0, stream>>>(k_.peers<const uint4>(), v_.peers<const uint4>(), flags_.peers<Flags>(),
                                          static_cast<uint4*>(gathered_), vectors, rank_, cp, call_);
    const int64_t set = call_ % kSets * set_;
    Links links = {};
    links.flags = flags_.mine<Flags>();
    links.batches = batches_.mine<Batch>();
    links.in = args.x;
    if (rank_ >= cp) {
      links.flags_before = flags_.at<Flags>(rank_ - cp);
      links.in = in_.mine<__nv_bfloat16>() + set;
    }
    if (rank_ + cp < world_) {
      links.batches_behind = batches_.at<Batch>(rank_ + cp);
      links.in_behind = in_.at<__nv_bfloat16>(rank_ + cp) + set;
    }
    const dim3 grid(static_cast<unsigned>(args.tokens * args.heads), static_cast<unsigned>(args.batches));
    attend<<<grid, kThreads, 0, stream>>>(args, links, static_cast<const __nv_bfloat16*>(gathered_), call_);
  }

 private:
  int rank_;
  int world_;
  int64_t set_;  // numbers of a set of micro-batches
  fabricbench::PeerMemory flags_;
  fabricbench::PeerMemory batches_;
  fabricbench::PeerMemory in_;
  fabricbench::PeerMemory k_;
  fabricbench::PeerMemory v_;
  void* gathered_ = nullptr;
  uint32_t call_ = 0;
};
// [/solution]
