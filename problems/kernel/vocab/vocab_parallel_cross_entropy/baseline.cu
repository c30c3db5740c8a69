// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kThreads = 256, kWarps = kThreads / kWarp;

// The result is that of thread 0.
template <class Operation>
__device__ float over_block(float value, Operation op) {
  __shared__ float of_warp[kWarps];
  for (int step = kWarp / 2; step > 0; step /= 2) value = op(value, __shfl_down_sync(~0u, value, step));
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
  __syncthreads();
  if (threadIdx.x != 0) return value;
  for (int w = 1; w < kWarps; ++w) value = op(value, of_warp[w]);
  return value;
}

// A block for each row, in all kernels but the last.
__global__ void find_largest(const int4* logits, float* largest, int64_t quads) {
  const int4* row = logits + blockIdx.x * quads;
  float most = -1e30F;
#pragma unroll 4
  for (int64_t q = threadIdx.x; q < quads; q += kThreads) {
    const int4 bits = row[q];
    const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&bits);
    for (int k = 0; k < 4; ++k) {
      const float2 x = __bfloat1622float2(pairs[k]);
      most = fmaxf(most, fmaxf(x.x, x.y));
    }
  }
  most = over_block(most, [](float a, float b) { return fmaxf(a, b); });
  if (threadIdx.x == 0) largest[blockIdx.x] = most;
}

// sums: of the exponentials of all rows, and behind them the targets' logits, 0 where another rank has it.
__global__ void add_exponentials(const int4* logits, const int32_t* target, const float* largest, float* sums,
                                 int64_t tokens, int64_t quads, int rank) {
  const int4* row = logits + blockIdx.x * quads;
  const float most = largest[blockIdx.x];
  float sum = 0;
#pragma unroll 4
  for (int64_t q = threadIdx.x; q < quads; q += kThreads) {
    const int4 bits = row[q];
    const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&bits);
    for (int k = 0; k < 4; ++k) {
      const float2 x = __bfloat1622float2(pairs[k]);
      sum += __expf(x.x - most) + __expf(x.y - most);
    }
  }
  sum = over_block(sum, [](float a, float b) { return a + b; });
  if (threadIdx.x != 0) return;
  const int64_t word = target[blockIdx.x] - rank * quads * 8;
  sums[blockIdx.x] = sum;
  sums[tokens + blockIdx.x] =
      word >= 0 && word < quads * 8 ? __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(row)[word]) : 0;
}

__global__ void finish(const float* largest, const float* sums, float* loss, int64_t tokens) {
  const int64_t t = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (t < tokens) loss[t] = largest[t] + logf(sums[t]) - sums[tokens + t];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&largest_, static_cast<size_t>(3 * args.tokens) * sizeof(float)));
    sums_ = largest_ + args.tokens;
  }
  ~Solution() { cudaFree(largest_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto rows = static_cast<unsigned>(args.tokens);
    const auto* logits = reinterpret_cast<const int4*>(args.logits);
    find_largest<<<rows, kThreads, 0, stream>>>(logits, largest_, args.vocab / 8);
    fabricbench::check_nccl(ncclAllReduce(largest_, largest_, rows, ncclFloat, ncclMax, comm_, stream));
    add_exponentials<<<rows, kThreads, 0, stream>>>(logits, args.target, largest_, sums_, args.tokens, args.vocab / 8,
                                                    rank_);
    fabricbench::check_nccl(ncclAllReduce(sums_, sums_, 2 * size_t{rows}, ncclFloat, ncclSum, comm_, stream));
    finish<<<(rows + kThreads - 1) / kThreads, kThreads, 0, stream>>>(largest_, sums_, args.loss, args.tokens);
  }

 private:
  int rank_;
  fabricbench::NcclCommunicator comm_;
  float *largest_ = nullptr, *sums_ = nullptr;
};
// [/solution]
