// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

#include <algorithm>

constexpr int kThreads = 256, kBatch = 4;

// out[sequence][rank] = gathered[rank][sequence]: pieces of `quads` times 16 bytes. Grid: (any, world, batch).
__global__ void __launch_bounds__(kThreads) concatenate(const int4* gathered, int4* out, int64_t quads) {
  const int64_t rank = blockIdx.y, world = gridDim.y, sequence = blockIdx.z, batch = gridDim.z;
  const int4* from = gathered + (rank * batch + sequence) * quads;
  int4* to = out + (sequence * world + rank) * quads;
  constexpr int64_t kStep = kThreads * kBatch;
  for (int64_t i = blockIdx.x * kStep + threadIdx.x; i < quads; i += gridDim.x * kStep) {
    int4 value[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (i + k * kThreads < quads) value[k] = __ldg(from + i + k * kThreads);
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (i + k * kThreads < quads) to[i + k * kThreads] = value[k];
    }
  }
}

// NCCL's all-gather puts whole ranks one behind the other; a kernel then brings the pieces of each sequence together.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : world_(rank.world()), count_(args.batch * args.tokens * args.hidden), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&gathered_, static_cast<size_t>(world_ * count_) * sizeof(__nv_bfloat16)));
  }
  ~Solution() { cudaFree(gathered_); }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_nccl(
        ncclAllGather(args.in, gathered_, static_cast<size_t>(count_), ncclBfloat16, comm_, stream));
    const int64_t quads = args.tokens * args.hidden / 8;
    const auto blocks = std::min<int64_t>(132, (quads + kThreads * kBatch - 1) / (kThreads * kBatch));
    const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(world_), static_cast<unsigned>(args.batch));
    concatenate<<<grid, kThreads, 0, stream>>>(reinterpret_cast<const int4*>(gathered_),
                                               reinterpret_cast<int4*>(args.out), quads);
  }

 private:
  int world_;
  int64_t count_;  // elements of a rank
  fabricbench::NcclCommunicator comm_;
  __nv_bfloat16* gathered_ = nullptr;
};
// [/solution]
