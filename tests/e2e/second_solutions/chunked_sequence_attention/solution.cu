// Rank g computes head g of keys for the tokens of all ranks. A kernel sends queries, keys and values to their ranks
// and waits for those of all; scores of all chunks are one product of cuBLAS, masked by the softmax behind it, and a
// second product makes the results; a last kernel stores them into the `out` of their ranks and waits for its own.

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cmath>
#include <cstdint>
#include <cuda/atomic>
#include <vector>

#include "args.h"

// [solution]
#include <cublas_v2.h>

#include <algorithm>
#include <stdexcept>

constexpr int kSize = 128;           // of a head
constexpr int kVectors = kSize / 8;  // of 8 numbers
constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr int kMostWorld = 8;
constexpr int kMostBlocks = 16;  // for each peer: 128 in all, which are resident together
constexpr unsigned kAll = 0xffffffffu;

// Block x for peer y has sent what it has for this peer, and waits for what block x of the peer has sent here. Behind
// the kernel all blocks of all ranks have met. Numbers grow with each meeting: nothing is reset, and a peer that is
// ahead does no harm. System scope, since the peer is another GPU.
__device__ void barrier(fabricbench::Peers<uint32_t> flags, int rank, int peer, uint32_t number) {
  using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
  __syncthreads();  // the block's stores are before the flag
  if (threadIdx.x > 0) return;
  Flag theirs(flags.of[peer][blockIdx.x * kMostWorld + rank]);
  Flag mine(flags.of[rank][blockIdx.x * kMostWorld + peer]);
  theirs.store(number, cuda::memory_order_release);
  while (static_cast<int32_t>(mine.load(cuda::memory_order_acquire) - number) < 0) {
  }
}

// The head of queries that is number `h` of group `g`.
__device__ int64_t head_of(int64_t g, int64_t h, int64_t share, [[maybe_unused]] int64_t world) {
  return g * share + h;
}

// What a rank gets, of its group alone: queries [chunk][source][token][h], keys and values [chunk][source][token]. They
// are read by the products. A rank that stores those of the next call has met this one behind them, at the end of
// this call: one buffer is enough.
__global__ void __launch_bounds__(kThreads)
    send(Args args, fabricbench::Peers<uint4> to_q, fabricbench::Peers<uint4> to_k, fabricbench::Peers<uint4> to_v,
         fabricbench::Peers<uint32_t> flags, int rank, int world, uint32_t number) {
  const int g = static_cast<int>(blockIdx.y);
  const auto* q = reinterpret_cast<const uint4*>(args.q);
  const auto* k = reinterpret_cast<const uint4*>(args.k);
  const auto* v = reinterpret_cast<const uint4*>(args.v);
  const int64_t queries = args.tokens * args.share * kVectors;  // of a chunk
  const int64_t keys = args.tokens * kVectors;
  for (int64_t c = blockIdx.x; c < args.chunks; c += gridDim.x) {
    const int64_t place = c * world + rank;
    for (int64_t i = threadIdx.x; i < queries; i += kThreads) {
      const int64_t t = i / kVectors / args.share;
      const int64_t h = i / kVectors % args.share;
      const int64_t from = (c * args.tokens + t) * world * args.share + head_of(g, h, args.share, world);
      to_q.of[g][place * queries + i] = q[from * kVectors + i % kVectors];
    }
    for (int64_t i = threadIdx.x; i < keys; i += kThreads) {
      const int64_t from = ((c * args.tokens + i / kVectors) * world + g) * kVectors + i % kVectors;
      to_k.of[g][place * keys + i] = k[from];
      to_v.of[g][place * keys + i] = v[from];
    }
  }
  barrier(flags, rank, g, number);
}

// A warp for each row of scores. Keys of later chunks get no weight.
__global__ void __launch_bounds__(kThreads) softmax(const float* scores, __nv_bfloat16* weights, int64_t rows,
                                                    int64_t keys, int64_t rows_of_chunk, int64_t keys_of_chunk) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (row >= rows) return;
  const int64_t seen = (row / rows_of_chunk + 1) * keys_of_chunk;
  scores += row * keys;
  weights += row * keys;
  float most = -INFINITY;
  for (int64_t i = lane; i < seen; i += 32) most = fmaxf(most, scores[i]);
  for (int distance = 16; distance > 0; distance /= 2) most = fmaxf(most, __shfl_xor_sync(kAll, most, distance));
  float sum = 0.0f;
  for (int64_t i = lane; i < seen; i += 32) sum += __expf(scores[i] - most);
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(kAll, sum, distance);
  for (int64_t i = lane; i < keys; i += 32) {
    weights[i] = __float2bfloat16(i < seen ? __expf(scores[i] - most) / sum : 0.0f);
  }
}

// All ranks have met in this call, so they have begun it: their `out` may be written.
__global__ void __launch_bounds__(kThreads)
    give_back(Args args, const uint4* results, fabricbench::Peers<uint4> out, fabricbench::Peers<uint32_t> flags,
              int rank, int world, uint32_t number) {
  const int owner = static_cast<int>(blockIdx.y);
  const int64_t count = args.tokens * args.share * kVectors;  // of a chunk
  for (int64_t c = blockIdx.x; c < args.chunks; c += gridDim.x) {
    for (int64_t i = threadIdx.x; i < count; i += kThreads) {
      const int64_t t = i / kVectors / args.share;
      const int64_t h = i / kVectors % args.share;
      const int64_t row = (c * args.tokens + t) * world * args.share + head_of(rank, h, args.share, world);
      out.of[owner][row * kVectors + i % kVectors] = results[(c * world + owner) * count + i];
    }
  }
  barrier(flags, rank, owner, number);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        keys_(args.chunks * rank.world() * args.tokens),
        rows_(keys_ * args.share),
        q_(rank, bytes(rows_ * kSize)),
        k_(rank, bytes(keys_ * kSize)),
        v_(rank, bytes(keys_ * kSize)),
        out_(rank, args.out),
        flags_(rank, sizeof(uint32_t) * kMostBlocks * kMostWorld) {
    fabricbench::check_cuda(cudaMalloc(&scores_, 2 * bytes(rows_ * keys_)), "scores");  // floats
    fabricbench::check_cuda(cudaMalloc(&weights_, bytes(rows_ * keys_)), "weights");
    fabricbench::check_cuda(cudaMalloc(&results_, bytes(rows_ * kSize)), "results");
    check(cublasCreate(&handle_));
  }

  ~Solution() {
    cublasDestroy(handle_);
    cudaFree(scores_);
    cudaFree(weights_);
    cudaFree(results_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>(std::min<int64_t>(args.chunks, kMostBlocks)), static_cast<unsigned>(world_));
    const auto flags = flags_.peers<uint32_t>();
    send<<<grid, kThreads, 0, stream>>>(args, q_.peers<uint4>(), k_.peers<uint4>(), v_.peers<uint4>(), flags, rank_,
                                        world_, ++number_);

    // In columns, as cuBLAS has it: scores^T = k * q^T, results^T = v^T * weights^T.
    const int rows = static_cast<int>(rows_);
    const int keys = static_cast<int>(keys_);
    const float scale = 1.0f / std::sqrt(static_cast<float>(kSize));
    const float one = 1.0f;
    const float zero = 0.0f;
    check(cublasSetStream(handle_, stream));
    check(cublasGemmEx(handle_, CUBLAS_OP_T, CUBLAS_OP_N, keys, rows, kSize, &scale, k_.mine(), CUDA_R_16BF, kSize,
                       q_.mine(), CUDA_R_16BF, kSize, &zero, scores_, CUDA_R_32F, keys, CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT));
    softmax<<<static_cast<unsigned>((rows_ + kWarps - 1) / kWarps), kThreads, 0, stream>>>(
        scores_, weights_, rows_, keys_, rows_ / args.chunks, keys_ / args.chunks);
    check(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, kSize, rows, keys, &one, v_.mine(), CUDA_R_16BF, kSize,
                       weights_, CUDA_R_16BF, keys, &zero, results_, CUDA_R_16BF, kSize, CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT));

    give_back<<<grid, kThreads, 0, stream>>>(args, reinterpret_cast<const uint4*>(results_), out_.peers<uint4>(), flags,
                                             rank_, world_, ++number_);
  }

 private:
  static size_t bytes(int64_t numbers) { return sizeof(__nv_bfloat16) * static_cast<size_t>(numbers); }
  static void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
  }

  int rank_;
  int world_;
  int64_t keys_;  // of all chunks and ranks, of this rank's group
  int64_t rows_;  // as many queries
  fabricbench::PeerMemory q_;
  fabricbench::PeerMemory k_;
  fabricbench::PeerMemory v_;
  fabricbench::PeerMemory out_;
  fabricbench::PeerMemory flags_;
  float* scores_ = nullptr;
  __nv_bfloat16* weights_ = nullptr;
  __nv_bfloat16* results_ = nullptr;
  cublasHandle_t handle_ = nullptr;
  uint32_t number_ = 0;
};
// [/solution]
