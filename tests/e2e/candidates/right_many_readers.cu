// problem: chunked_sequence_attention
// expect: pass
// mode: full
// seconds: 60
// about: right, with very many scattered reads of the same words: the race checker must keep up
// A warp for each query, in scalar float.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cmath>
#include <cstdint>
#include <cuda/atomic>
#include <vector>

#include "args.h"

// [solution]
constexpr int kSize = 128;
constexpr int kVectors = kSize / 8;
constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr unsigned kAll = 0xffffffffu;
using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
struct Call {
  fabricbench::Peers<uint4> q, k, v;
  fabricbench::Peers<uint32_t> sent, done;
};
__device__ void wait_for(uint32_t* flag, uint32_t number) {
  while (static_cast<int32_t>(Flag(*flag).load(cuda::memory_order_acquire) - number) < 0) {
  }
}
__global__ void __launch_bounds__(kThreads)
    send(Args args, const __grid_constant__ Call to, int rank, int world, uint32_t call) {
  const int64_t c = blockIdx.x;
  const int g = static_cast<int>(blockIdx.y);
  const int64_t place = c * world + rank;
  const auto* q = reinterpret_cast<const uint4*>(args.q);
  const auto* k = reinterpret_cast<const uint4*>(args.k);
  const auto* v = reinterpret_cast<const uint4*>(args.v);
  const int64_t queries = args.tokens * args.share * kVectors;
  for (int64_t i = threadIdx.x; i < queries; i += kThreads) {
    const int64_t t = i / kVectors / args.share;
    const int64_t h = i / kVectors % args.share;
    const int64_t from = (c * args.tokens + t) * world * args.share + g * args.share + h;
    to.q.of[g][place * queries + i] = q[from * kVectors + i % kVectors];
  }
  const int64_t keys = args.tokens * kVectors;
  for (int64_t i = threadIdx.x; i < keys; i += kThreads) {
    const int64_t from = ((c * args.tokens + i / kVectors) * world + g) * kVectors + i % kVectors;
    to.k.of[g][place * keys + i] = k[from];
    to.v.of[g][place * keys + i] = v[from];
  }
  __syncthreads();
  if (threadIdx.x == 0) Flag(to.sent.of[g][place]).store(call, cuda::memory_order_release);
}
__global__ void __launch_bounds__(kThreads)
    attend(Args args, const __grid_constant__ Call at, fabricbench::Peers<__nv_bfloat16> out, int rank, int world,
           uint32_t call) {
  __shared__ float queries[kWarps][kSize];
  const int64_t t = blockIdx.x;
  const int owner = static_cast<int>(blockIdx.y);
  const int64_t c = blockIdx.z;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int64_t i = threadIdx.x; i < (c + 1) * world; i += kThreads) wait_for(at.sent.of[rank] + i, call);
  __syncthreads();
  const auto* all_q = reinterpret_cast<const __nv_bfloat16*>(at.q.of[rank]);
  const uint4* k = at.k.of[rank];
  const auto* v = reinterpret_cast<const __nv_bfloat162*>(at.v.of[rank]);
  const int64_t keys = (c + 1) * world * args.tokens;
  const float scale = 1.0f / sqrtf(static_cast<float>(kSize));
  for (int64_t h = warp; h < args.share; h += kWarps) {
    const __nv_bfloat16* q = all_q + (((c * world + owner) * args.tokens + t) * args.share + h) * kSize;
    __syncwarp();
    for (int d = lane; d < kSize; d += 32) queries[warp][d] = __bfloat162float(q[d]);
    __syncwarp();
    float most = -INFINITY;
    float sum = 0.0f;
    float results[4] = {};
    for (int64_t begin = 0; begin < keys; begin += 32) {
      float score = -INFINITY;
      if (begin + lane < keys) {
        score = 0.0f;
        for (int i = 0; i < kVectors; ++i) {
          const uint4 eight = k[(begin + lane) * kVectors + i];
          const uint32_t pairs[4] = {eight.x, eight.y, eight.z, eight.w};
          for (int j = 0; j < 8; ++j) {
            const float x = __uint_as_float(j % 2 == 0 ? pairs[j / 2] << 16 : pairs[j / 2] & 0xffff0000u);
            score += queries[warp][8 * i + j] * x;
          }
        }
        score *= scale;
      }
      float larger = fmaxf(most, score);
      for (int distance = 16; distance > 0; distance /= 2)
        larger = fmaxf(larger, __shfl_xor_sync(kAll, larger, distance));
      const float weight = __expf(score - larger);
      const float factor = __expf(most - larger);
      most = larger;
      sum = sum * factor + weight;
      for (float& result : results) result *= factor;
      const int count = static_cast<int>(keys - begin < 32 ? keys - begin : 32);
      for (int j = 0; j < count; ++j) {
        const float w = __shfl_sync(kAll, weight, j);
        const __nv_bfloat162* value = v + (begin + j) * (kSize / 2) + 2 * lane;
        const float2 low = __bfloat1622float2(value[0]);
        const float2 high = __bfloat1622float2(value[1]);
        results[0] += w * low.x;
        results[1] += w * low.y;
        results[2] += w * high.x;
        results[3] += w * high.y;
      }
    }
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(kAll, sum, distance);
    const int64_t row = (c * args.tokens + t) * world * args.share + rank * args.share + h;
    auto* to = reinterpret_cast<__nv_bfloat162*>(out.of[owner] + row * kSize) + 2 * lane;
    to[0] = __floats2bfloat162_rn(results[0] / sum, results[1] / sum);
    to[1] = __floats2bfloat162_rn(results[2] / sum, results[3] / sum);
  }
  __syncthreads();
  if (threadIdx.x == 0) Flag(*at.done.of[owner]).fetch_add(1, cuda::memory_order_release);
}
__global__ void finish(uint32_t* done, uint32_t number) { wait_for(done, number); }
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        key_bytes_(sizeof(__nv_bfloat16) * static_cast<size_t>(args.chunks * rank.world() * args.tokens * kSize)),
        query_bytes_(key_bytes_ * static_cast<size_t>(args.share)),
        memory_(rank, 2 * (query_bytes_ + 2 * key_bytes_)),
        flags_(rank, sizeof(uint32_t) * static_cast<size_t>(args.chunks * rank.world() + 1)),
        out_(rank, args.out) {}
  void run(const Args& args, cudaStream_t stream) {
    ++call_;
    const size_t offset = call_ % 2 * (query_bytes_ + 2 * key_bytes_);
    Call call;
    call.q = memory_.peers<uint4>(offset);
    call.k = memory_.peers<uint4>(offset + query_bytes_);
    call.v = memory_.peers<uint4>(offset + query_bytes_ + key_bytes_);
    call.done = flags_.peers<uint32_t>();
    call.sent = flags_.peers<uint32_t>(sizeof(uint32_t));
    const unsigned world = static_cast<unsigned>(world_);
    const unsigned chunks = static_cast<unsigned>(args.chunks);
    const unsigned tokens = static_cast<unsigned>(args.tokens);
    send<<<dim3(chunks, world), kThreads, 0, stream>>>(args, call, rank_, world_, call_);
    attend<<<dim3(tokens, world, chunks), kThreads, 0, stream>>>(args, call, out_.peers<__nv_bfloat16>(), rank_, world_,
                                                                 call_);
    finish<<<1, 1, 0, stream>>>(flags_.mine<uint32_t>(), call_ * chunks * tokens * world);
  }

 private:
  int rank_;
  int world_;
  size_t key_bytes_, query_bytes_;
  fabricbench::PeerMemory memory_, flags_, out_;
  uint32_t call_ = 0;
};
// [/solution]
