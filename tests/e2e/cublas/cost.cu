// A product of bf16 matrices of 1024 x 1024 x 1024; with an argument everything but that.
#include <cublas_v2.h>

int main(int argc, char**) {
  constexpr int kSize = 1024;
  cublasHandle_t handle;
  __nv_bfloat16* data;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 1;
  cudaMalloc(&data, 3 * kSize * kSize * sizeof *data);
  cudaMemset(data, 0x3c, 3 * kSize * kSize * sizeof *data);
  cudaDeviceSynchronize();
  if (argc > 1) return 0;
  const float one = 1, zero = 0;
  cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, kSize, kSize, kSize, &one, data, CUDA_R_16BF, kSize,
               data + kSize * kSize, CUDA_R_16BF, kSize, &zero, data + 2 * kSize * kSize, CUDA_R_16BF, kSize,
               CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  return cudaDeviceSynchronize() != cudaSuccess;
}
