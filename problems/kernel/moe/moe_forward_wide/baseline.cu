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
#include <cmath>

#include "../forward_by_groups.h"

// Step by step: route, dispatch, the expert's products, combine. The host waits for the counts in between.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    const auto tokens = static_cast<size_t>(args.tokens), hidden = static_cast<size_t>(args.hidden);
    const auto ffn = static_cast<size_t>(args.ffn), world = static_cast<size_t>(world_);
    const auto experts = static_cast<size_t>(world_ * args.local);
    // Rows, at most: a token chooses an expert once.
    const size_t sent = tokens * static_cast<size_t>(args.k);
    const size_t received = tokens * world * static_cast<size_t>(std::min(args.k, args.local));
    fabricbench::check_cuda(cudaMalloc(&logits_, tokens * experts * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&ids_, sent * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&weights_, sent * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&places_, sent * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&counts_, experts * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&all_, world * experts * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMallocHost(&all_on_host_, world * experts * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&sorted_, sent * hidden * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&rows_, received * hidden * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMalloc(&u_, received * ffn * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&v_, received * ffn * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&h_, received * ffn * sizeof(__nv_bfloat16)));
    // A rank without tokens launches nothing; the kernel shall not be loaded in the first call that has some.
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
    const auto ffn = static_cast<int>(args.ffn), k = static_cast<int>(args.k), local = static_cast<int>(args.local);
    const int experts = world_ * local;
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    fabricbench::check_cuda(cudaMemsetAsync(counts_, 0, static_cast<size_t>(experts) * sizeof(int32_t), stream));
    multiply(args.router, args.x, logits_, CUDA_R_32F, experts, tokens, hidden);
    route<<<static_cast<unsigned>((tokens * kWarp + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
        logits_, ids_, weights_, counts_, tokens, experts, k);
    fabricbench::check_nccl(ncclAllGather(counts_, all_, static_cast<size_t>(experts), ncclInt32, comm_, stream));
    fabricbench::check_cuda(cudaMemcpyAsync(all_on_host_, all_, static_cast<size_t>(world_ * experts) * sizeof(int32_t),
                                            cudaMemcpyDeviceToHost, stream));
    sort<<<static_cast<unsigned>(tokens * k), kThreads, 0, stream>>>(
        reinterpret_cast<const uint4*>(args.x), ids_, reinterpret_cast<uint4*>(sorted_), places_, hidden / 8, k);
    fabricbench::check_cuda(cudaStreamSynchronize(stream));

    const auto rows_of = [&](int expert) {  // of this rank
      int64_t rows = 0;
      for (int s = 0; s < world_; ++s) rows += all_on_host_[s * experts + rank_ * local + expert];
      return rows;
    };
    exchange(sorted_, rows_, false, args, stream);
    int64_t rows = 0;
    for (int e = 0; e < local; rows += rows_of(e++)) {
      const auto count = static_cast<int>(rows_of(e));
      if (count == 0) continue;
      const int64_t weight = int64_t{e} * ffn * hidden;
      multiply(args.w_gate + weight, rows_ + rows * hidden, u_ + rows * ffn, CUDA_R_32F, ffn, count, hidden);
      multiply(args.w_up + weight, rows_ + rows * hidden, v_ + rows * ffn, CUDA_R_32F, ffn, count, hidden);
    }
    if (rows != 0) {
      const int64_t count = rows * ffn;
      gate<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(u_, v_, h_, count);
    }
    rows = 0;
    for (int e = 0; e < local; rows += rows_of(e++)) {
      const auto count = static_cast<int>(rows_of(e));
      if (count == 0) continue;
      multiply(args.w_down + int64_t{e} * ffn * hidden, h_ + rows * ffn, rows_ + rows * hidden, CUDA_R_16BF, hidden,
               count, ffn);
    }
    exchange(rows_, sorted_, true, args, stream);
    add_up<<<static_cast<unsigned>(tokens), kThreads, 0, stream>>>(
        reinterpret_cast<const __nv_bfloat162*>(sorted_), places_, weights_,
        reinterpret_cast<__nv_bfloat162*>(args.out), args.hidden / 2, k);
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

  // Rows of tokens go to their experts, or back. At the tokens' rank they are sorted by expert; at the experts' by
  // expert, then source. A message for each expert and source puts them there.
  void exchange(const __nv_bfloat16* from, __nv_bfloat16* to, bool back, const Args& args, cudaStream_t stream) {
    const int64_t hidden = args.hidden, local = args.local, experts = world_ * local;
    const auto move = [&](int64_t rows, bool send, int64_t at, int peer) {
      const auto count = static_cast<size_t>(rows * hidden);
      if (rows == 0) return;
      fabricbench::check_nccl(send ? ncclSend(from + at * hidden, count, ncclBfloat16, peer, comm_, stream)
                                   : ncclRecv(to + at * hidden, count, ncclBfloat16, peer, comm_, stream));
    };
    int64_t at_token = 0, at_expert = 0;
    fabricbench::check_nccl(ncclGroupStart());
    for (int64_t e = 0; e < experts; ++e) {
      const int64_t rows = all_on_host_[rank_ * experts + e];
      move(rows, !back, at_token, static_cast<int>(e / local));
      at_token += rows;
    }
    for (int64_t l = 0; l < local; ++l) {
      for (int s = 0; s < world_; ++s) {
        const int64_t rows = all_on_host_[s * experts + rank_ * local + l];
        move(rows, back, at_expert, s);
        at_expert += rows;
      }
    }
    fabricbench::check_nccl(ncclGroupEnd());
  }

  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  cublasHandle_t cublas_ = nullptr;
  float *logits_ = nullptr, *weights_ = nullptr;                         // [tokens][experts], [tokens][k]
  int32_t *ids_ = nullptr, *places_ = nullptr;                           // [tokens][k]
  int32_t *counts_ = nullptr, *all_ = nullptr, *all_on_host_ = nullptr;  // [experts], [source][expert]
  __nv_bfloat16 *sorted_ = nullptr, *rows_ = nullptr;                    // rows of our tokens, rows of our experts
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
