#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/rank.h>

#include <cstdint>

#include "args.h"

// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

#include <algorithm>

#include "../forward.h"

__global__ void add_up(const __nv_bfloat162* rows, const int32_t* places, const float* weights, __nv_bfloat162* out,
                       int64_t pairs) {
  const int64_t token = blockIdx.x;
  const int32_t first = places[token * kChosen], second = places[token * kChosen + 1];
  const float a = weights[token * kChosen], b = weights[token * kChosen + 1];
  for (int64_t p = threadIdx.x; p < pairs; p += blockDim.x) {
    const float2 y = __bfloat1622float2(rows[first * pairs + p]), z = __bfloat1622float2(rows[second * pairs + p]);
    out[token * pairs + p] = __floats2bfloat162_rn(a * y.x + b * z.x, a * y.y + b * z.y);
  }
}

// Step by step: route, dispatch, the expert's products, combine. The host waits for the counts in between.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    const auto tokens = static_cast<size_t>(args.tokens), hidden = static_cast<size_t>(args.hidden);
    const auto ffn = static_cast<size_t>(args.ffn), world = static_cast<size_t>(world_);
    const size_t sent = tokens * kChosen, received = tokens * world;  // rows, at most: a token chooses an expert once
    fabricbench::check_cuda(cudaMalloc(&logits_, tokens * world * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&ids_, sent * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&weights_, sent * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&places_, sent * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&counts_, world * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&all_, world * world * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMallocHost(&all_on_host_, world * world * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&sorted_, sent * hidden * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&rows_, received * hidden * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&u_, received * ffn * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&v_, received * ffn * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&h_, received * ffn * sizeof(__nv_bfloat16)));
    // An expert without tokens launches nothing; the kernel shall not be loaded in the first call that has some.
    cudaFuncAttributes attributes;
    fabricbench::check_cuda(cudaFuncGetAttributes(&attributes, gate));
  }
  ~Solution() {
    cudaFree(logits_);
    cudaFree(ids_);
    cudaFree(weights_);
    cudaFree(places_);
    cudaFree(counts_);
    cudaFree(all_);
    cudaFreeHost(all_on_host_);
    cudaFree(sorted_);
    cudaFree(rows_);
    cudaFree(u_);
    cudaFree(v_);
    cudaFree(h_);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto tokens = static_cast<int>(args.tokens), hidden = static_cast<int>(args.hidden);
    const auto ffn = static_cast<int>(args.ffn);
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    multiply(args.router, args.x, logits_, CUDA_R_32F, world_, tokens, hidden);
    route<<<1, 512, 0, stream>>>(logits_, ids_, weights_, counts_, tokens, world_);
    fabricbench::check_nccl(ncclAllGather(counts_, all_, static_cast<size_t>(world_), ncclInt32, comm_, stream));
    fabricbench::check_cuda(cudaMemcpyAsync(all_on_host_, all_, static_cast<size_t>(world_ * world_) * sizeof(int32_t),
                                            cudaMemcpyDeviceToHost, stream));
    sort<<<static_cast<unsigned>(tokens * kChosen), kThreads, 0, stream>>>(
        reinterpret_cast<const uint4*>(args.x), ids_, reinterpret_cast<uint4*>(sorted_), places_, hidden / 8);
    fabricbench::check_cuda(cudaStreamSynchronize(stream));

    const int rows = exchange(sorted_, rows_, false, args.hidden, stream);
    if (rows != 0) {
      multiply(args.w_gate, rows_, u_, CUDA_R_32F, ffn, rows, hidden);
      multiply(args.w_up, rows_, v_, CUDA_R_32F, ffn, rows, hidden);
      const int64_t count = int64_t{rows} * ffn;
      gate<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(u_, v_, h_, count);
      multiply(args.w_down, h_, rows_, CUDA_R_16BF, hidden, rows, ffn);
    }
    exchange(rows_, sorted_, true, args.hidden, stream);
    add_up<<<static_cast<unsigned>(tokens), kThreads, 0, stream>>>(
        reinterpret_cast<const __nv_bfloat162*>(sorted_), places_, weights_,
        reinterpret_cast<__nv_bfloat162*>(args.out), args.hidden / 2);
  }

 private:
  // c[rows][columns] = a[rows][depth] times the transpose of b[columns][depth]. cuBLAS has columns where these matrices
  // have rows: it is given the transposed product.
  void multiply(const __nv_bfloat16* b, const __nv_bfloat16* a, void* c, cudaDataType type, int columns, int rows,
                int depth) {
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, columns, rows, depth, &one, b,
                                           CUDA_R_16BF, depth, a, CUDA_R_16BF, depth, &zero, c, type, columns,
                                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

  // Rows of tokens go to their experts, or back. Returns how many this rank's expert has.
  int exchange(const __nv_bfloat16* from, __nv_bfloat16* to, bool back, int64_t hidden, cudaStream_t stream) {
    int64_t at_expert = 0, at_token = 0;
    fabricbench::check_nccl(ncclGroupStart());
    for (int peer = 0; peer < world_; ++peer) {
      const int64_t mine = all_on_host_[rank_ * world_ + peer], theirs = all_on_host_[peer * world_ + rank_];
      const int64_t send = back ? theirs : mine, receive = back ? mine : theirs;
      if (send != 0)
        fabricbench::check_nccl(ncclSend(from + (back ? at_expert : at_token) * hidden,
                                         static_cast<size_t>(send * hidden), ncclBfloat16, peer, comm_, stream));
      if (receive != 0)
        fabricbench::check_nccl(ncclRecv(to + (back ? at_token : at_expert) * hidden,
                                         static_cast<size_t>(receive * hidden), ncclBfloat16, peer, comm_, stream));
      at_token += mine;
      at_expert += theirs;
    }
    fabricbench::check_nccl(ncclGroupEnd());
    return static_cast<int>(at_expert);
  }

  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t cublas_ = nullptr;
  float *logits_ = nullptr, *weights_ = nullptr;                         // [tokens][world], [tokens][kChosen]
  int32_t *ids_ = nullptr, *places_ = nullptr;                           // [tokens][kChosen]
  int32_t *counts_ = nullptr, *all_ = nullptr, *all_on_host_ = nullptr;  // [world], [source][expert]
  __nv_bfloat16 *sorted_ = nullptr, *rows_ = nullptr;  // rows of our tokens by expert, rows of our expert by source
  float *u_ = nullptr, *v_ = nullptr;
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
//|     // TODO: enqueue the layer
//|   }
//| };
// [/solution]
