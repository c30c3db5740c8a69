#include <cuda_runtime.h>
#include <fabricbench/rank.h>

#include <cstdint>

#include "args.h"

// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kThreads = 256;
constexpr int kEdges = 8;  // of a block: every negative that a thread reads is compared with all of them

__global__ void __launch_bounds__(kThreads)
    find_places(const int32_t* count, const float* positive, const float* negatives, int32_t* places, int64_t all) {
  __shared__ int32_t sums[kEdges];
  const int first = static_cast<int>(blockIdx.x) * kEdges, edges = min(*count - first, kEdges);
  if (edges <= 0) return;
  if (threadIdx.x < kEdges) sums[threadIdx.x] = 1;
  __syncthreads();
  float score[kEdges];
  int32_t before[kEdges] = {};
  // Behind the last edge the last one again: its place is not written.
  for (int e = 0; e < kEdges; ++e) score[e] = positive[first + min(e, edges - 1)];
#pragma unroll 8
  for (int64_t j = threadIdx.x; j < all; j += kThreads) {
    const float negative = negatives[j];
    for (int e = 0; e < kEdges; ++e) before[e] += negative >= score[e];
  }
  for (int e = 0; e < kEdges; ++e) {
    for (int step = kWarp / 2; step > 0; step /= 2) before[e] += __shfl_down_sync(~0u, before[e], step);
    if (threadIdx.x % kWarp == 0) atomicAdd(&sums[e], before[e]);
  }
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < edges) places[first + threadIdx.x] = sums[threadIdx.x];
}

// Leaves out what is no edge. A block for each rank.
__global__ void pack(const int32_t* counts, const int32_t* places, int32_t* offsets, int32_t* place, int64_t most) {
  const auto rank = static_cast<int>(blockIdx.x);
  int32_t first = 0;
  for (int r = 0; r < rank; ++r) first += counts[r];
  if (threadIdx.x == 0) {
    if (rank == 0) offsets[0] = 0;
    offsets[rank + 1] = first + counts[rank];
  }
  for (int i = static_cast<int>(threadIdx.x); i < counts[rank]; i += kThreads)
    place[first + i] = places[rank * most + i];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : world_(rank.world()), comm_(rank) {
    const auto world = static_cast<size_t>(world_), most = static_cast<size_t>(args.most);
    fabricbench::check_cuda(cudaMalloc(&counts_, world * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&negatives_, world * static_cast<size_t>(args.negatives) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&own_, most * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&places_, world * most * sizeof(int32_t)));
    fabricbench::check_cuda(
        cudaMemset(own_, 0, most * sizeof(int32_t)));  // what is behind the last edge is gathered, too
  }
  ~Solution() {
    cudaFree(counts_);
    cudaFree(negatives_);
    cudaFree(own_);
    cudaFree(places_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto most = static_cast<size_t>(args.most), negatives = static_cast<size_t>(args.negatives);
    fabricbench::check_nccl(ncclGroupStart());
    fabricbench::check_nccl(ncclAllGather(args.count, counts_, 1, ncclInt32, comm_, stream));
    fabricbench::check_nccl(ncclAllGather(args.negative, negatives_, negatives, ncclFloat, comm_, stream));
    fabricbench::check_nccl(ncclGroupEnd());
    find_places<<<static_cast<unsigned>((args.most + kEdges - 1) / kEdges), kThreads, 0, stream>>>(
        args.count, args.positive, negatives_, own_, world_ * args.negatives);
    fabricbench::check_nccl(ncclAllGather(own_, places_, most, ncclInt32, comm_, stream));
    pack<<<static_cast<unsigned>(world_), kThreads, 0, stream>>>(counts_, places_, args.offsets, args.place, args.most);
  }

 private:
  int world_;
  fabricbench::NcclCommunicator comm_;
  int32_t *counts_ = nullptr, *own_ = nullptr, *places_ = nullptr;
  float* negatives_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the ranking
//|   }
//| };
// [/solution]
