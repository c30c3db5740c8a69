// A product whose left factor is spread over all GPUs: cuBLAS multiplies one share while copy engines bring the next.
//
// Teaches: a library's calls are work in a stream like any other, so events overlap them with copies. Each GPU needs
// all rows of A and has some of them; its product is cut by rows into one cublasGemmEx for each GPU's share. It begins
// with its own share and pulls the others one after the other on a second stream. Watch out: the product of a share
// waits for the event behind its copy, and for nothing else; a wait on the host would undo the overlap. cuBLAS stores
// matrices by columns, so a matrix in rows is its transposed one: this computes C^T = B^T A^T.
//
// Run: fabricbench exec --platform h100x8 -lcublas examples/24_all_gather_beside_gemm.cu
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/check.h"

constexpr int kRows = 256, kColumns = 256, kDepth = 512;  // a share of A is kRows × kDepth; B is kDepth × kColumns

struct Gpu {
  __nv_bfloat16 *share = nullptr, *all = nullptr, *b = nullptr;  // all: A as it arrives, share after share
  float* c = nullptr;
  cudaStream_t compute = nullptr, copies = nullptr;
  cublasHandle_t blas = nullptr;
};

void check_blas(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) fail("cuBLAS: %s", cublasGetStatusName(status));
}

__nv_bfloat16 element(int gpu, int row, int column) {
  return __nv_bfloat16(float((gpu + 3 * row + 5 * column) % 7 - 3));
}

void multiply(const Gpu& g, const __nv_bfloat16* share, int number) {
  const float one = 1, zero = 0;
  check_blas(cublasGemmEx(g.blas, CUBLAS_OP_N, CUBLAS_OP_N, kColumns, kRows, kDepth, &one, g.b, CUDA_R_16BF, kColumns,
                          share, CUDA_R_16BF, kDepth, &zero, g.c + size_t(number) * kRows * kColumns, CUDA_R_32F,
                          kColumns, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

int main() {
  int gpus = 0;
  CHECK(cudaGetDeviceCount(&gpus));
  std::vector<Gpu> all(gpus);
  const size_t share_count = size_t(kRows) * kDepth, share_bytes = share_count * sizeof(__nv_bfloat16);
  std::vector<__nv_bfloat16> host(share_count), host_b(size_t(kDepth) * kColumns);
  for (int k = 0; k < kDepth; ++k) {
    for (int j = 0; j < kColumns; ++j) host_b[size_t(k) * kColumns + j] = element(100, k, j);
  }
  for (int d = 0; d < gpus; ++d) {
    Gpu& g = all[d];
    CHECK(cudaSetDevice(d));
    CHECK(cudaMalloc(&g.share, share_bytes));
    CHECK(cudaMalloc(&g.all, gpus * share_bytes));
    CHECK(cudaMalloc(&g.b, host_b.size() * sizeof(__nv_bfloat16)));
    CHECK(cudaMalloc(&g.c, size_t(gpus) * kRows * kColumns * sizeof(float)));
    CHECK(cudaStreamCreateWithFlags(&g.compute, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&g.copies, cudaStreamNonBlocking));
    check_blas(cublasCreate(&g.blas));
    check_blas(cublasSetStream(g.blas, g.compute));
    for (int i = 0; i < kRows; ++i) {
      for (int k = 0; k < kDepth; ++k) host[size_t(i) * kDepth + k] = element(d, i, k);
    }
    CHECK(cudaMemcpy(g.share, host.data(), share_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(g.b, host_b.data(), host_b.size() * sizeof(__nv_bfloat16), cudaMemcpyHostToDevice));
    for (int peer = 0; peer < gpus; ++peer) {
      if (peer != d) CHECK(cudaDeviceEnablePeerAccess(peer, 0));
    }
    CHECK(cudaDeviceSynchronize());
  }

  for (int d = 0; d < gpus; ++d) {
    const Gpu& g = all[d];
    CHECK(cudaSetDevice(d));
    multiply(g, g.share, d);
    for (int step = 1; step < gpus; ++step) {
      // Each GPU begins with its neighbour: no port serves two readers at once.
      const int from = (d + step) % gpus;
      __nv_bfloat16* const here = g.all + size_t(from) * share_count;
      cudaEvent_t arrived;
      CHECK(cudaEventCreateWithFlags(&arrived, cudaEventDisableTiming));
      CHECK(cudaMemcpyPeerAsync(here, d, all[from].share, from, share_bytes, g.copies));
      CHECK(cudaEventRecord(arrived, g.copies));
      CHECK(cudaStreamWaitEvent(g.compute, arrived, 0));
      multiply(g, here, from);
      CHECK(cudaEventDestroy(arrived));
    }
  }

  std::vector<float> c(size_t(gpus) * kRows * kColumns);
  for (int d = 0; d < gpus; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(c.data(), all[d].c, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    // Small integers: sums are exact in any order. A few of them are enough.
    for (int t = 0; t < 200; ++t) {
      const int from = t % gpus, i = t * 37 % kRows, j = t * 101 % kColumns;
      float sum = 0;
      for (int k = 0; k < kDepth; ++k) sum += float(element(from, i, k)) * float(element(100, k, j));
      const float got = c[(size_t(from) * kRows + i) * kColumns + j];
      if (got != sum) fail("GPU %d, row %d of GPU %d, column %d: %g instead of %g", d, i, from, j, got, sum);
    }
    check_blas(cublasDestroy(all[d].blas));
  }
  std::printf("OK %d GPUs, a product of %d x %d x %d on each\n", gpus, gpus * kRows, kColumns, kDepth);
}
