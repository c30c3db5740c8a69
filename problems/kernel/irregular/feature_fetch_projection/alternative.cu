// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank_barrier.h>

#include <cuda/atomic>
// The other order: each rank projects all of its nodes, and results are fetched, read where they are. Barriers of all
// ranks are kernels.
using fabricbench::Peers;

__global__ void fetch(Peers<const int4> projected, const int64_t* id, int4* out, int64_t count, uint32_t nodes,
                      uint32_t quads) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count * quads) return;
  const auto node = static_cast<uint32_t>(id[i / quads]);
  out[i] = projected.of[node / nodes][int64_t{node % nodes} * quads + i % quads];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        projected_(rank, static_cast<size_t>(args.nodes * args.columns) * sizeof(__nv_bfloat16)) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
  }
  ~Solution() { cublasDestroy(cublas_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<unsigned>(world_);
    const auto columns = static_cast<int>(args.columns), width = static_cast<int>(args.width);
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, columns, static_cast<int>(args.nodes),
                                           width, &one, args.projection, CUDA_R_16BF, columns, args.feature,
                                           CUDA_R_16BF, width, &zero, projected_.mine(), CUDA_R_16BF, columns,
                                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    // all nodes are projected
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    const int64_t quads = args.columns / 8;
    fetch<<<static_cast<unsigned>((args.fetches * quads + 255) / 256), 256, 0, stream>>>(
        projected_.peers<const int4>(), args.id, reinterpret_cast<int4*>(args.out), args.fetches,
        static_cast<uint32_t>(args.nodes), static_cast<uint32_t>(quads));
    // all have read
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, projected_;
  cublasHandle_t cublas_ = nullptr;
};
// [/solution]
