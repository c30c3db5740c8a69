// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank_barrier.h>

#include <cuda/atomic>
// Intersections are products: masks become zeros and ones in bf16, and cuBLAS reads those of other ranks where they
// are. Sums of ones are exact in f32. Then every rank goes through all masks in the order of scores. Barriers of all
// ranks are kernels.
using fabricbench::Peers;

constexpr int kMostMasks = 128;  // of all ranks

__global__ void widen(const uchar4* mask, uint2* wide, int64_t quads) {
  const int64_t q = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (q >= quads) return;
  constexpr uint32_t kOne = 0x3F80;  // bf16
  const uchar4 m = mask[q];
  wide[q] = {(m.x != 0 ? kOne : 0) | (m.y != 0 ? kOne << 16 : 0), (m.z != 0 ? kOne : 0) | (m.w != 0 ? kOne << 16 : 0)};
}

// One block, a thread for each place for a mask. `common` has on each rank a row for each of its masks, with all
// places.
__global__ void scan(Peers<const int32_t> count, Peers<const float> score, Peers<const float> common, int32_t* offsets,
                     int32_t* suppressor, int most, int world) {
  __shared__ float scores[kMostMasks];
  __shared__ int order[kMostMasks], numbers[kMostMasks], by[kMostMasks];
  const auto thread = static_cast<int>(threadIdx.x);
  const int rank = thread / most, i = thread % most;
  int first = 0, total = 0;
  for (int r = 0; r < world; ++r) {
    if (r < rank) first += *count.of[r];
    total += *count.of[r];
  }
  if (i == 0) offsets[rank] = first;
  if (thread == 0) offsets[world] = total;
  const bool there = i < *count.of[rank];
  scores[thread] = there ? score.of[rank][i] : -1;
  numbers[thread] = first + i;
  by[thread] = -1;
  __syncthreads();
  int place = 0;
  for (int other = 0; other < world * most; ++other)
    place += scores[other] > scores[thread] || (scores[other] == scores[thread] && other < thread) ? 1 : 0;
  order[place] = thread;
  const float area = common.of[rank][i * world * most + thread];
  for (int p = 0; p < total; ++p) {
    __syncthreads();
    const int best = order[p];
    // by[best] is final: the masks before it have been taken.
    if (by[best] >= 0 || p > place || !there) continue;
    const float* row = common.of[best / most] + best % most * world * most;
    if (p < place && by[thread] < 0 && 10 * row[thread] > 7 * (area + row[best] - row[thread])) by[thread] = best;
  }
  if (there) suppressor[numbers[thread]] = numbers[by[thread] < 0 ? thread : by[thread]];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        wide_(rank, static_cast<size_t>(args.most * args.pixels) * sizeof(__nv_bfloat16)),
        common_(rank, static_cast<size_t>(args.most * rank.world() * args.most) * sizeof(float)),
        counts_(rank, args.count),
        scores_(rank, args.score) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
  }
  ~Solution() { cublasDestroy(cublas_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<unsigned>(world_);
    const auto most = static_cast<int>(args.most), pixels = static_cast<int>(args.pixels);
    const int64_t quads = args.most * args.pixels / 4;
    widen<<<static_cast<unsigned>((quads + 255) / 256), 256, 0, stream>>>(reinterpret_cast<const uchar4*>(args.mask),
                                                                          wide_.mine<uint2>(), quads);
    // all masks are there
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    const float one = 1, zero = 0;
    for (int step = 0; step < world_; ++step) {
      const int peer = (rank_ + step) % world_;
      fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, most, most, pixels, &one,
                                             wide_.at(peer), CUDA_R_16BF, pixels, wide_.mine(), CUDA_R_16BF, pixels,
                                             &zero, common_.mine<float>() + peer * most, CUDA_R_32F, world_ * most,
                                             CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    }
    // all intersections are there
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    scan<<<1, world* static_cast<unsigned>(most), 0, stream>>>(
        counts_.peers<const int32_t>(), scores_.peers<const float>(), common_.peers<const float>(), args.offsets,
        args.suppressor, most, world_);
    // all have read
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, wide_, common_, counts_, scores_;
  cublasHandle_t cublas_ = nullptr;
};
// [/solution]
