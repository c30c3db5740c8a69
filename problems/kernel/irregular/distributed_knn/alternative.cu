// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank_barrier.h>

#include <cuda/atomic>
// Nothing is selected where the database is: products read the queries of every rank where they are, and store all
// similarities in its memory; the rank looks through them, and fetches the classes of its neighbours. Barriers of all
// ranks are kernels.
using fabricbench::Peers;

constexpr int kWarp = 32;

struct Neighbour {
  float similarity;
  int entry;  // its number in the whole database
};

__device__ bool operator<(const Neighbour& a, const Neighbour& b) {
  return a.similarity > b.similarity || (a.similarity == b.similarity && a.entry < b.entry);
}

// Puts one more into a sorted list that a warp's threads hold; the last one falls out.
__device__ void insert(Neighbour& mine, const Neighbour& one, int lane) {
  const int place = __popc(__ballot_sync(~0u, mine < one));
  const Neighbour previous = {__shfl_up_sync(~0u, mine.similarity, 1), __shfl_up_sync(~0u, mine.entry, 1)};
  if (lane == place) mine = one;
  if (lane > place) mine = previous;
}

// A block for each query of this rank and a warp for each part of the database, then the first warp alone.
__global__ void search(const float* similarities, Peers<const int32_t> label, float* similarity, int32_t* neighbour,
                       int database, int k) {
  __shared__ Neighbour lists[8][kWarp];
  const int lane = static_cast<int>(threadIdx.x), part = static_cast<int>(threadIdx.y);
  const auto world = static_cast<int>(blockDim.y);
  const float* row = similarities + (int64_t{blockIdx.x} * world + part) * database;
  Neighbour mine = {-1e9F, 0x7FFFFFFF};
  for (int first = 0; first < database; first += kWarp) {
    const int j = first + lane;
    Neighbour next = {j < database ? row[j] : -1e9F, part * database + j};
    const Neighbour last = {__shfl_sync(~0u, mine.similarity, k - 1), __shfl_sync(~0u, mine.entry, k - 1)};
    for (unsigned left = __ballot_sync(~0u, j < database && next < last); left != 0; left &= left - 1) {
      const int from = __ffs(static_cast<int>(left)) - 1;
      insert(mine, {__shfl_sync(~0u, next.similarity, from), __shfl_sync(~0u, next.entry, from)}, lane);
    }
  }
  lists[part][lane] = mine;
  __syncthreads();
  if (part != 0) return;
  for (int p = 1; p < world; ++p) {
    for (int i = 0; i < k && lists[p][i].entry != 0x7FFFFFFF; ++i) insert(mine, lists[p][i], lane);
  }
  if (lane >= k) return;
  similarity[int64_t{blockIdx.x} * k + lane] = mine.similarity;
  neighbour[int64_t{blockIdx.x} * k + lane] = label.of[mine.entry / database][mine.entry % database];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        similarities_(rank, static_cast<size_t>(rank.world() * args.queries * args.database) * sizeof(float)),
        queries_(rank, args.query),
        labels_(rank, args.label) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
  }
  ~Solution() { cublasDestroy(cublas_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<unsigned>(world_);
    const auto dim = static_cast<int>(args.dim), database = static_cast<int>(args.database);
    const auto queries = static_cast<int>(args.queries), k = static_cast<int>(args.k);
    // all queries and classes are there
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    const float one = 1, zero = 0;
    for (int step = 0; step < world_; ++step) {
      // [query][rank][database] in the memory of the queries' rank.
      const int peer = (rank_ + step) % world_;
      fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, database, queries, dim, &one,
                                             args.entry, CUDA_R_16BF, dim, queries_.at<__nv_bfloat16>(peer),
                                             CUDA_R_16BF, dim, &zero,
                                             similarities_.at<float>(peer) + rank_ * args.database, CUDA_R_32F,
                                             world_ * database, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    }
    // all similarities have arrived
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    search<<<static_cast<unsigned>(queries), dim3(kWarp, world), 0, stream>>>(
        similarities_.mine<float>(), labels_.peers<const int32_t>(), args.similarity, args.neighbour, database, k);
    // all have read classes
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, similarities_, queries_, labels_;
  cublasHandle_t cublas_ = nullptr;
};
// [/solution]
