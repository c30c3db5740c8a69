#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
using fabricbench::post;
using fabricbench::wait;

constexpr int kThreads = 128;
// Blocks that add up, and their threads. All are resident at once: they wait for their peers.
constexpr int kBlocks = 32, kAdders = 64;

// One word per block and peer, written by that peer only: the last call of which it is true.
struct Flags {
  uint32_t ready[kBlocks][fabricbench::kMostRanks];  // its partial sums are there, and its `out` may be written
  uint32_t done[kBlocks][fabricbench::kMostRanks];   // its block has read the sums here and written to `out` here
};

// Writes what the filters see as a matrix: columns[k][n] for term k = (channel, frame, row, column of the filter) and
// position n. A thread has 8 positions, which are in one row of a frame. Grid: (positions / 8 / kThreads, terms).
__global__ void __launch_bounds__(kThreads)
    unfold(const __nv_bfloat16* x, int4* columns, int octets, int frames, int height, int width) {
  const auto octet = static_cast<int>(blockIdx.x * kThreads + threadIdx.x), k = static_cast<int>(blockIdx.y);
  if (octet >= octets) return;
  const int n = octet * 8, frame = n / (height * width), row = n / width % height;
  const int64_t plane = k / 27 * (frames + 2) + frame + k % 27 / 9;
  const __nv_bfloat16* from = x + (plane * (height + 2) + row + k % 9 / 3) * (width + 2) + n % width + k % 3;
  __align__(16) __nv_bfloat16 values[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) values[i] = from[i];
  columns[int64_t{k} * octets + octet] = *reinterpret_cast<const int4*>(values);
}

// Adds up this rank's part of the output from the partial sums of all ranks, where they are, adds the bias, and writes
// the result to all ranks. Results cross the links in bf16: half the bytes of sums in float. Everything goes by 8
// numbers; rank r's part of the output is the r-th `share` of them.
//
// Both flags are needed. Before `ready`, a peer's sums are not there, and its `out` is still being taken. Before
// `done`, a peer may read the sums that the next call overwrites, or has not yet written its part of `out`.
__global__ void __launch_bounds__(kAdders)
    reduce(Peers<Flags> flags, Peers<const float4> partial, const __nv_bfloat16* bias, Peers<int4> out, int octets,
           int octets_of_filter, int rank, int world, uint32_t call) {
  const auto peer = static_cast<int>(threadIdx.x);
  const auto block = blockIdx.x;
  if (peer < world && peer != rank) {
    // That this kernel runs says that the product before it has ended: the release covers what the stream did before.
    post(flags.of[peer]->ready[block][rank], call);
    wait(flags.of[rank]->ready[block][peer], call);
  }
  __syncthreads();  // what those threads have acquired is there for all

  const int share = (octets + world - 1) / world, end = min(octets, (rank + 1) * share);
  for (int o = rank * share + static_cast<int>(block * kAdders + threadIdx.x); o < end; o += gridDim.x * kAdders) {
    float sum[8] = {};
#pragma unroll 4
    for (int r = 0; r < world; ++r) {  // in the same order for all numbers, whichever rank adds them
      const float4 low = partial.of[r][2 * o], high = partial.of[r][2 * o + 1];
      const float terms[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
      for (int i = 0; i < 8; ++i) sum[i] += terms[i];
    }
    const float b = __bfloat162float(bias[o / octets_of_filter]);
    __align__(16) __nv_bfloat162 rounded[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) rounded[i] = __floats2bfloat162_rn(sum[2 * i] + b, sum[2 * i + 1] + b);
    const int4 value = *reinterpret_cast<const int4*>(rounded);
    for (int k = 0; k < world; ++k) {  // every rank begins with itself: no two with the same one
      const int to = rank + k < world ? rank + k : rank + k - world;
      out.of[to][o] = value;
    }
  }

  __syncthreads();  // orders loads and stores of all threads before the releases
  if (peer < world && peer != rank) {
    post(flags.of[peer]->done[block][rank], call);
    wait(flags.of[rank]->done[block][peer], call);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        positions_(args.frames * args.height * args.width),
        terms_(27 * args.channels),
        flags_(rank, sizeof(Flags)),
        partial_(rank, static_cast<size_t>(args.filters * positions_) * sizeof(float)),
        outputs_(rank, args.out) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    const auto bytes = static_cast<size_t>(terms_ * positions_) * sizeof(__nv_bfloat16);
    fabricbench::check_cuda(cudaMalloc(&columns_, bytes), "cudaMalloc");
  }
  ~Solution() {
    cudaFree(columns_);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto positions = static_cast<int>(positions_), terms = static_cast<int>(terms_);
    const auto filters = static_cast<int>(args.filters);
    const auto blocks = [](int items) { return static_cast<unsigned>((items + kThreads - 1) / kThreads); };
    unfold<<<dim3(blocks(positions / 8), static_cast<unsigned>(terms)), kThreads, 0, stream>>>(
        args.x, columns_, positions / 8, static_cast<int>(args.frames), static_cast<int>(args.height),
        static_cast<int>(args.width));
    // cuBLAS has columns where these matrices have rows: the product is that of the transposed factors, exchanged.
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, positions, filters, terms, &one, columns_,
                                           CUDA_R_16BF, positions, args.w, CUDA_R_16BF, terms, &zero,
                                           partial_.mine<float>(), CUDA_R_32F, positions, CUBLAS_COMPUTE_32F,
                                           CUBLAS_GEMM_DEFAULT));
    const int octets = filters * positions / 8, share = (octets + world_ - 1) / world_;
    reduce<<<std::min(kBlocks, (share + kAdders - 1) / kAdders), kAdders, 0, stream>>>(
        flags_.peers<Flags>(), partial_.peers<const float4>(), args.bias, outputs_.peers<int4>(), octets, positions / 8,
        rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  int64_t positions_, terms_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, partial_, outputs_;
  cublasHandle_t cublas_ = nullptr;
  int4* columns_ = nullptr;  // [terms][positions] of bf16
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the convolution
//|   }
//| };
// [/solution]
