// A batch of products whose results are on two GPUs: what goes to the other one crosses the link, whichever product of
// the batch comes first.

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

constexpr int kBatch = 8, kRows = 1024, kDepth = 64;

static float microseconds(cublasHandle_t blas, const std::vector<float*>& results, const float* a) {
  std::vector<const float*> factors(2 * kBatch, a);
  const void** pointers;
  cudaMalloc(&pointers, 3 * kBatch * sizeof(void*));
  cudaMemcpy(pointers, factors.data(), 2 * kBatch * sizeof(void*), cudaMemcpyHostToDevice);
  cudaMemcpy(pointers + 2 * kBatch, results.data(), kBatch * sizeof(void*), cudaMemcpyHostToDevice);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  const float one = 1, zero = 0;
  float elapsed = 0;
  for (int call = 0; call < 2; ++call) {  // the first one is not timed
    cudaEventRecord(begin);
    cublasSgemmBatched(blas, CUBLAS_OP_N, CUBLAS_OP_N, kRows, kRows, kDepth, &one,
                       reinterpret_cast<const float* const*>(pointers), kRows,
                       reinterpret_cast<const float* const*>(pointers + kBatch), kDepth, &zero,
                       reinterpret_cast<float* const*>(const_cast<void**>(pointers + 2 * kBatch)), kRows, kBatch);
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&elapsed, begin, end);
  }
  cudaFree(pointers);
  return 1000 * elapsed;
}

int main() {
  const size_t bytes = kRows * kRows * sizeof(float);
  float *here, *there, *a;
  cudaSetDevice(1);
  cudaMalloc(&there, kBatch * bytes);
  cudaSetDevice(0);
  cudaDeviceEnablePeerAccess(1, 0);
  cudaMalloc(&here, kBatch * bytes);
  cudaMalloc(&a, bytes);
  cudaMemset(a, 0, bytes);
  cublasHandle_t blas;
  cublasCreate(&blas);
  std::vector<float*> local, first, last;
  for (int k = 0; k < kBatch; ++k) {
    const size_t at = static_cast<size_t>(k) * kRows * kRows;
    local.push_back(here + at);
    first.push_back(k == 0 ? here + at : there + at);
    last.push_back(k == kBatch - 1 ? here + at : there + at);
  }
  const float alone = microseconds(blas, local, a), own_first = microseconds(blas, first, a),
              own_last = microseconds(blas, last, a);
  std::printf("here %.1f us, all but the first on a peer %.1f us, all but the last %.1f us\n", alone, own_first,
              own_last);
  const float least = 1e6F * (kBatch - 1) * bytes / 450e9F;  // what the link needs at its peak
  const bool good =
      own_first > least && own_last > least && own_first < 1.05F * own_last && own_last < 1.05F * own_first;
  std::printf("%s\n", good ? "PASSED" : "FAILED");
  cublasDestroy(blas);
  return good ? 0 : 1;
}
