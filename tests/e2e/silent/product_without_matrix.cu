// A product of a library that is refused, and one that nothing waits for.
// options: -lcublas
// exit: 1
// says: launch: rank 0: cublasSgemm: CUBLAS_STATUS_
// says: ended before the work that it had launched
// says: cublasSgemm of 64x64x64 f32, product_without_matrix.cu:26
#include <cublas_v2.h>

#include "silent.h"
int main() {
  cublasHandle_t handle = nullptr;
  cublasCreate(&handle);
  float* x = nullptr;
  cudaMalloc(&x, 3 * 64 * 64 * sizeof(float));
  cudaMemset(x, 0, 3 * 64 * 64 * sizeof(float));
  cudaDeviceSynchronize();
  const float one = 1, zero = 0;
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  cublasSetStream(handle, stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaStreamSynchronize(stream);  // invalidates the capture
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, x, 64, x + 4096, 64, &zero, x + 8192, 64);
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream, &graph);
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, x, 64, x + 4096, 64, &zero, x + 8192, 64);
}
