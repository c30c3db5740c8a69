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

constexpr int kThreads = 256, kWeights = 3;
constexpr int kGatherBlocks = 40, kAddBlocks = 128;  // of each weight; all resident at once: they wait for their peers

// One word per block and peer, written by that peer only: the last call in which the peer's block has done it.
struct Flags {
  uint32_t gathered[kWeights][kGatherBlocks][fabricbench::kMostRanks];  // has written its piece of the shard here
  uint32_t partial[kAddBlocks][fabricbench::kMostRanks];                // has found its partial sums ready
};

// The place of a rank in the grid: ranks of one replica are adjacent, holders of one set of weights are `tp` apart.
struct Place {
  int rank, tp, replicas;
  __device__ int inner() const { return rank % tp; }
  __device__ int outer() const { return rank / tp; }
  __device__ int holder(int f) const { return f * tp + inner(); }
  __device__ int mate(int t) const { return outer() * tp + t; }
};

struct Shards {
  const int4* of[kWeights];
};

// Writes this rank's shards into the weights of all that share them: each number is read once, and stored `replicas`
// times. Blocks of one number have the same piece everywhere, so that each waits for its like only. Grid: (pieces,
// weights). `whole` has two sets, used in turn. In call e a rank writes where the owner's products of call e - 2 read.
// They have ended: the writer has waited, in call e - 1, for the owner's kernel of call e - 1, which came behind them.
__global__ void __launch_bounds__(kThreads)
    gather(Peers<Flags> flags, Shards shards, Peers<int4> whole, int64_t quads, Place place, uint32_t call) {
  const auto weight = blockIdx.y;
  const int64_t first = (int64_t{call % 2} * kWeights + weight) * place.replicas * quads + place.outer() * quads;
  for (int64_t q = int64_t{blockIdx.x} * kThreads + threadIdx.x; q < quads; q += int64_t{gridDim.x} * kThreads) {
    const int4 value = __ldg(shards.of[weight] + q);
    for (int k = 0; k < place.replicas; ++k)  // every rank begins with itself: no two with the same one
      whole.of[place.holder((place.outer() + k) % place.replicas)][first + q] = value;
  }

  __syncthreads();  // orders the stores of all threads before the releases
  const auto f = static_cast<int>(threadIdx.x);
  if (f < place.replicas && f != place.outer()) {
    post(flags.of[place.holder(f)]->gathered[weight][blockIdx.x][place.rank], call);
    wait(flags.of[place.rank]->gathered[weight][blockIdx.x][place.holder(f)], call);
  }
}

__global__ void __launch_bounds__(kThreads) gate(const float2* u, const float2* v, __nv_bfloat162* h, int64_t pairs) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= pairs) return;
  const float2 a = u[i], b = v[i];
  h[i] = __floats2bfloat162_rn(__fdividef(a.x, 1 + __expf(-a.x)) * b.x, __fdividef(a.y, 1 + __expf(-a.y)) * b.y);
}

// Adds the partial sums of a replica's ranks, read where they are. That this kernel runs says that its rank's are
// ready: the release covers what the stream did before. Two sets again, for the same reason as above, so that no rank
// has to say that it has read.
__global__ void __launch_bounds__(kThreads)
    add_up(Peers<Flags> flags, Peers<float4> partial, uint2* y, int64_t quads, Place place, uint32_t call) {
  const auto t = static_cast<int>(threadIdx.x);
  if (t < place.tp && t != place.inner()) {
    post(flags.of[place.mate(t)]->partial[blockIdx.x][place.rank], call);
    wait(flags.of[place.rank]->partial[blockIdx.x][place.mate(t)], call);
  }
  __syncthreads();

  for (int64_t q = int64_t{blockIdx.x} * kThreads + threadIdx.x; q < quads; q += int64_t{gridDim.x} * kThreads) {
    float4 sum = {0, 0, 0, 0};
    for (int k = 0; k < place.tp; ++k) {
      const float4 term = partial.of[place.mate(k)][(call % 2) * quads + q];
      sum = {sum.x + term.x, sum.y + term.y, sum.z + term.z, sum.w + term.w};
    }
    const __nv_bfloat162 low = __floats2bfloat162_rn(sum.x, sum.y), high = __floats2bfloat162_rn(sum.z, sum.w);
    y[q] = {*reinterpret_cast<const uint32_t*>(&low), *reinterpret_cast<const uint32_t*>(&high)};
  }
}

// All weights travel in one kernel, which ends when the last has come; the first two products are one batch; partial
// sums stay in float, and one kernel adds them and rounds.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : place_{rank.rank(), static_cast<int>(args.tp), rank.world() / static_cast<int>(args.tp)},
        hidden_(place_.replicas * args.width),
        flags_(rank, sizeof(Flags)),
        whole_(rank, 2 * kWeights * static_cast<size_t>(hidden_ * args.neurons) * sizeof(__nv_bfloat16)),
        partial_(rank, 2 * static_cast<size_t>(args.tokens * hidden_) * sizeof(float)) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    const auto count = static_cast<size_t>(args.tokens * args.neurons);
    fabricbench::check_cuda(cudaMalloc(&uv_, 2 * count * sizeof(float)), "cudaMalloc");
    fabricbench::check_cuda(cudaMalloc(&h_, count * sizeof(__nv_bfloat16)), "cudaMalloc");
  }
  ~Solution() {
    cudaFree(uv_);
    cudaFree(h_);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    ++call_;
    const auto blocks = [](int64_t items, int most) {
      return static_cast<unsigned>(std::min<int64_t>(most, (items + kThreads - 1) / kThreads));
    };
    const auto quads = [](const __nv_bfloat16* p) { return reinterpret_cast<const int4*>(p); };
    const int64_t shard = args.width * args.neurons, count = args.tokens * args.neurons;
    const int64_t outputs = args.tokens * hidden_;
    gather<<<dim3(blocks(shard / 8, kGatherBlocks), kWeights), kThreads, 0, stream>>>(
        flags_.peers<Flags>(), Shards{quads(args.w1), quads(args.w2), quads(args.w3)}, whole_.peers<int4>(), shard / 8,
        place_, call_);

    // cuBLAS has columns where these matrices have rows: each product is that of the transposed factors, exchanged.
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    const auto tokens = static_cast<int>(args.tokens), neurons = static_cast<int>(args.neurons);
    const auto hidden = static_cast<int>(hidden_);
    const int64_t weight = hidden_ * args.neurons;
    const __nv_bfloat16* whole = whole_.mine<__nv_bfloat16>() + call_ % 2 * kWeights * weight;
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasGemmStridedBatchedEx(
        cublas_, CUBLAS_OP_N, CUBLAS_OP_N, neurons, tokens, hidden, &one, whole, CUDA_R_16BF, neurons, weight, args.x,
        CUDA_R_16BF, hidden, 0, &zero, uv_, CUDA_R_32F, neurons, count, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    gate<<<static_cast<unsigned>((count / 2 + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
        reinterpret_cast<const float2*>(uv_), reinterpret_cast<const float2*>(uv_ + count),
        reinterpret_cast<__nv_bfloat162*>(h_), count / 2);
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, hidden, tokens, neurons, &one,
                                           whole + 2 * weight, CUDA_R_16BF, neurons, h_, CUDA_R_16BF, neurons, &zero,
                                           partial_.mine<float>() + call_ % 2 * outputs, CUDA_R_32F, hidden,
                                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    add_up<<<blocks(outputs / 4, kAddBlocks), kThreads, 0, stream>>>(
        flags_.peers<Flags>(), partial_.peers<float4>(), reinterpret_cast<uint2*>(args.y), outputs / 4, place_, call_);
  }

 private:
  Place place_;
  int64_t hidden_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, whole_, partial_;
  cublasHandle_t cublas_ = nullptr;
  float* uv_ = nullptr;
  __nv_bfloat16* h_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the MLP
//|   }
//| };
// [/solution]
