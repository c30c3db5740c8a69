// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kThreads = 512, kWarps = kThreads / kWarp;
constexpr int kLanes = 4, kGroups = kThreads / kLanes;  // threads in groups of 4
constexpr int kQuads = 8;                               // int4, of 8 logits each, that a thread keeps: vocab <= 32,768

// The order of words is that of numbers: a larger logit is a larger key of 16 bits, and behind it stands the word's
// number, of which a smaller one is before a larger one. No two words have the same.
__device__ uint32_t key_of(uint32_t logit) { return (logit & 0x8000) != 0 ? ~logit & 0xFFFF : logit | 0x8000; }
__device__ float logit_of(uint32_t key) {
  return __uint_as_float(((key & 0x8000) != 0 ? key ^ 0x8000 : ~key & 0xFFFF) << 16);
}
__device__ uint32_t place_of(uint32_t logit, uint32_t word) { return key_of(logit) << 16 | (0xFFFF - word); }

// Calls f(place) for the 8 words of a quad.
template <class F>
__device__ void for_each(int4 quad, uint32_t first_word, F f) {
  const auto* pairs = reinterpret_cast<const uint32_t*>(&quad);
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i) {
    f(place_of(pairs[i] & 0xFFFF, first_word + 2 * i));
    f(place_of(pairs[i] >> 16, first_word + 2 * i + 1));
  }
}

// The places of the first k words of this rank's part of a row, in order; 0 behind them if there are fewer. A block for
// each row. The k-th largest of the groups' largest places is a limit: k groups at most have places from there on, and
// the first k words are among these.
__global__ void __launch_bounds__(kThreads) select_local(const int4* logits, uint32_t* places, int64_t quads, int k) {
  extern __shared__ uint32_t found[];
  __shared__ uint32_t of_group[kGroups], limit;
  __shared__ int count;
  const auto thread = static_cast<int>(threadIdx.x);
  const int4* row = logits + blockIdx.x * quads;
  int4 quad[kQuads];
  uint32_t largest = 0;
#pragma unroll
  for (int i = 0; i < kQuads; ++i) {
    if (thread + i * kThreads < quads) quad[i] = row[thread + i * kThreads];
  }
#pragma unroll
  for (int i = 0; i < kQuads; ++i) {
    const int q = thread + i * kThreads;
    if (q < quads) for_each(quad[i], 8 * q, [&](uint32_t place) { largest = max(largest, place); });
  }
  uint32_t group = largest;
  for (int step = kLanes / 2; step > 0; step /= 2) group = max(group, __shfl_xor_sync(~0u, group, step));
  if (thread % kLanes == 0) of_group[thread / kLanes] = group;
  if (thread == 0) {
    limit = 1;
    count = 0;
  }
  __syncthreads();
  if (thread < kGroups) {
    const uint32_t mine = of_group[thread];
    int larger = 0;
    for (int g = 0; g < kGroups; ++g) larger += of_group[g] > mine ? 1 : 0;
    if (larger == k - 1 && mine != 0) limit = mine;
  }
  __syncthreads();
  if (largest >= limit) {
#pragma unroll
    for (int i = 0; i < kQuads; ++i) {
      const int q = thread + i * kThreads;
      if (q >= quads) continue;
      for_each(quad[i], 8 * q, [&](uint32_t place) {
        if (place >= limit) found[atomicAdd(&count, 1)] = place;
      });
    }
  }
  __syncthreads();
  for (int i = thread; i < count; i += kThreads) {
    int larger = 0;
    for (int j = 0; j < count; ++j) larger += found[j] > found[i] ? 1 : 0;
    if (larger < k) places[blockIdx.x * k + larger] = found[i];
  }
  if (thread >= count && thread < k) places[blockIdx.x * k + thread] = 0;
}

template <class T>
__device__ T sum_of_block(T value) {
  __shared__ T of_warp[kWarps];
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = of_warp[threadIdx.x % kWarps];
  for (int step = kWarps / 2; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

// A block for each row, a thread for each of the gathered words [world][tokens][k]: it counts the words before its own,
// by a search in the sorted list of each rank. Zeros first, then the words of this rank that are kept.
__global__ void __launch_bounds__(kThreads)
    select_all(const uint32_t* places, const int32_t* target, const float* grad, __nv_bfloat16* dlogits, int64_t tokens,
               int64_t vocab, int k, int self, int world) {
  __shared__ uint32_t all[kThreads];
  __shared__ float most;
  const auto thread = static_cast<int>(threadIdx.x);
  const int rank = thread / k;
  const int64_t t = blockIdx.x;
  __nv_bfloat16* row = dlogits + t * vocab;
  for (int64_t q = thread; q < vocab / 8; q += kThreads) reinterpret_cast<int4*>(row)[q] = make_int4(0, 0, 0, 0);
  const uint32_t mine = rank < world ? places[(rank * tokens + t) * k + thread % k] : 0;
  all[thread] = mine;
  __syncthreads();
  int before = 0;
  for (int r = 0; r < world && mine != 0; ++r) {
    // Equal logits of lower ranks are before this one, those of higher ranks are not.
    const uint32_t least = r < rank ? mine & 0xFFFF0000 : r == rank ? mine + 1 : (mine | 0xFFFF) + 1;
    int low = 0, high = k;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (all[r * k + middle] >= least) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    before += low;
  }
  const bool kept = mine != 0 && before < k;
  const float x = logit_of(mine >> 16);
  const uint32_t word = 0xFFFF - (mine & 0xFFFF);
  if (kept && before == 0) most = x;
  const bool is_target = kept && rank * vocab + word == target[t];
  if (__syncthreads_or(is_target) == 0) return;
  const float power = kept ? __expf(x - most) : 0.0F;
  const float sum = sum_of_block(power);
  if (kept && rank == self) row[word] = __float2bfloat16(grad[t] * ((is_target ? 1.0F : 0.0F) - power / sum));
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(
        cudaMalloc(&places_, static_cast<size_t>((1 + world_) * args.tokens * args.k) * sizeof(uint32_t)));
    const int64_t of_thread = (args.vocab / 8 + kThreads - 1) / kThreads * 8;
    shared_ = static_cast<int>(args.k * kLanes * of_thread * int64_t{sizeof(uint32_t)});
    fabricbench::check_cuda(cudaFuncSetAttribute(select_local, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_));
  }
  ~Solution() { cudaFree(places_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto rows = static_cast<unsigned>(args.tokens);
    const int k = static_cast<int>(args.k);
    uint32_t* gathered = places_ + args.tokens * k;
    select_local<<<rows, kThreads, static_cast<size_t>(shared_), stream>>>(reinterpret_cast<const int4*>(args.logits),
                                                                           places_, args.vocab / 8, k);
    fabricbench::check_nccl(
        ncclAllGather(places_, gathered, static_cast<size_t>(args.tokens * k), ncclUint32, comm_, stream));
    select_all<<<rows, kThreads, 0, stream>>>(gathered, args.target, args.grad, args.dlogits, args.tokens, args.vocab,
                                              k, rank_, world_);
  }

 private:
  int rank_, world_, shared_ = 0;
  fabricbench::NcclCommunicator comm_;
  uint32_t* places_ = nullptr;
};
// [/solution]
