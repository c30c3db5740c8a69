// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

#include <algorithm>

constexpr int kThreads = 256, kBatch = 4;

// Copies the tokens that are there out of the padded shards. Grid: (any, world).
__global__ void __launch_bounds__(kThreads)
    pack(const int32_t* lengths, const int4* gathered, int32_t* offsets, int4* out, int64_t most, int64_t quads) {
  const int rank = static_cast<int>(blockIdx.y);
  int32_t before = 0;
  for (int r = 0; r < rank; ++r) before += lengths[r];
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    if (rank == 0) offsets[0] = 0;
    offsets[rank + 1] = before + lengths[rank];
  }
  const int64_t count = lengths[rank] * quads;
  const int4* from = gathered + rank * most * quads;
  int4* to = out + before * quads;
  constexpr int64_t kStep = kThreads * kBatch;
  for (int64_t i = blockIdx.x * kStep + threadIdx.x; i < count; i += gridDim.x * kStep) {
    int4 value[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (i + k * kThreads < count) value[k] = __ldg(from + i + k * kThreads);
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (i + k * kThreads < count) to[i + k * kThreads] = value[k];
    }
  }
}

// NCCL needs counts on the host, and the same ones on all ranks. So the shards are gathered as long as they may be,
// together with their lengths, and a kernel packs them.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&lengths_, static_cast<size_t>(world_) * sizeof(int32_t)));
    fabricbench::check_cuda(
        cudaMalloc(&gathered_, static_cast<size_t>(world_ * args.most * args.hidden) * sizeof(__nv_bfloat16)));
  }
  ~Solution() {
    cudaFree(lengths_);
    cudaFree(gathered_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t count = args.most * args.hidden;
    fabricbench::check_nccl(ncclGroupStart());
    fabricbench::check_nccl(ncclAllGather(args.length, lengths_, 1, ncclInt32, comm_, stream));
    fabricbench::check_nccl(ncclAllGather(args.in, gathered_, static_cast<size_t>(count), ncclBfloat16, comm_, stream));
    fabricbench::check_nccl(ncclGroupEnd());
    const auto blocks = std::min<int64_t>(132, (count / 8 + kThreads * kBatch - 1) / (kThreads * kBatch));
    const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(world_));
    pack<<<grid, kThreads, 0, stream>>>(lengths_, reinterpret_cast<const int4*>(gathered_), args.offsets,
                                        reinterpret_cast<int4*>(args.out), args.most, args.hidden / 8);
  }

 private:
  int world_;
  fabricbench::NcclCommunicator comm_;
  int32_t* lengths_ = nullptr;
  __nv_bfloat16* gathered_ = nullptr;
};
// [/solution]
