// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 256;

// Two numbers a thread; the last one may be alone.
__global__ void widen(const __nv_bfloat16* from, float* to, int64_t n) {
  const int64_t i = 2 * (int64_t{blockIdx.x} * kThreads + threadIdx.x);
  if (i + 1 < n) {
    *reinterpret_cast<float2*>(to + i) = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(from + i));
  } else if (i < n) {
    to[i] = __bfloat162float(from[i]);
  }
}

__global__ void narrow(const float* from, __nv_bfloat16* to, int64_t n) {
  const int64_t i = 2 * (int64_t{blockIdx.x} * kThreads + threadIdx.x);
  if (i + 1 < n) {
    *reinterpret_cast<__nv_bfloat162*>(to + i) = __float22bfloat162_rn(*reinterpret_cast<const float2*>(from + i));
  } else if (i < n) {
    to[i] = __float2bfloat16_rn(from[i]);
  }
}

// NCCL's rings round sums of bf16 at every hop. So the bucket is widened to float, reduced, and rounded once.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&wide_, static_cast<size_t>(args.n) * sizeof(float)));
  }
  ~Solution() { cudaFree(wide_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>((args.n + 2 * kThreads - 1) / (2 * kThreads));
    widen<<<blocks, kThreads, 0, stream>>>(args.grad, wide_, args.n);
    fabricbench::check_nccl(
        ncclAllReduce(wide_, wide_, static_cast<size_t>(args.n), ncclFloat, ncclSum, comm_, stream));
    narrow<<<blocks, kThreads, 0, stream>>>(wide_, args.sum, args.n);
  }

 private:
  fabricbench::NcclCommunicator comm_;
  float* wide_ = nullptr;
};
// [/solution]
