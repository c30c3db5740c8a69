// Products of matrices, for sizes of FB_INT; FB_NAME adds what the names of that width end in.

#define FB_PRODUCT \
  cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, FB_INT m, FB_INT n, FB_INT k

FB_API cublasStatus_t FB_NAME(cublasSgemm_v2)(FB_PRODUCT, const float* alpha, const float* A, FB_INT lda,
                                              const float* B, FB_INT ldb, const float* beta, float* C, FB_INT ldc) {
  constexpr auto t = CUDA_R_32F;
  return multiply(
      {handle, transa, transb, m, n, k, alpha, {A, t, lda}, {B, t, ldb}, beta, {C, t, ldc}, CUBLAS_COMPUTE_32F},
      {"cublasSgemm", FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(cublasDgemm_v2)(FB_PRODUCT, const double* alpha, const double* A, FB_INT lda,
                                              const double* B, FB_INT ldb, const double* beta, double* C, FB_INT ldc) {
  constexpr auto t = CUDA_R_64F;
  return multiply(
      {handle, transa, transb, m, n, k, alpha, {A, t, lda}, {B, t, ldb}, beta, {C, t, ldc}, CUBLAS_COMPUTE_64F},
      {"cublasDgemm", FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(cublasHgemm)(FB_PRODUCT, const __half* alpha, const __half* A, FB_INT lda,
                                           const __half* B, FB_INT ldb, const __half* beta, __half* C, FB_INT ldc) {
  constexpr auto t = CUDA_R_16F;
  return multiply(
      {handle, transa, transb, m, n, k, alpha, {A, t, lda}, {B, t, ldb}, beta, {C, t, ldc}, CUBLAS_COMPUTE_16F},
      {"cublasHgemm", FB_CALLER});
}

FB_API cublasStatus_t FB_NAME(cublasSgemmBatched)(FB_PRODUCT, const float* alpha, const float* const A[], FB_INT lda,
                                                  const float* const B[], FB_INT ldb, const float* beta,
                                                  float* const C[], FB_INT ldc, FB_INT batches) {
  constexpr auto t = CUDA_R_32F;
  return multiply({handle,
                   transa,
                   transb,
                   m,
                   n,
                   k,
                   alpha,
                   {A, t, lda},
                   {B, t, ldb},
                   beta,
                   {C, t, ldc},
                   CUBLAS_COMPUTE_32F,
                   batches,
                   true},
                  {"cublasSgemmBatched", FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(cublasDgemmBatched)(FB_PRODUCT, const double* alpha, const double* const A[], FB_INT lda,
                                                  const double* const B[], FB_INT ldb, const double* beta,
                                                  double* const C[], FB_INT ldc, FB_INT batches) {
  constexpr auto t = CUDA_R_64F;
  return multiply({handle,
                   transa,
                   transb,
                   m,
                   n,
                   k,
                   alpha,
                   {A, t, lda},
                   {B, t, ldb},
                   beta,
                   {C, t, ldc},
                   CUBLAS_COMPUTE_64F,
                   batches,
                   true},
                  {"cublasDgemmBatched", FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(cublasHgemmBatched)(FB_PRODUCT, const __half* alpha, const __half* const A[], FB_INT lda,
                                                  const __half* const B[], FB_INT ldb, const __half* beta,
                                                  __half* const C[], FB_INT ldc, FB_INT batches) {
  constexpr auto t = CUDA_R_16F;
  return multiply({handle,
                   transa,
                   transb,
                   m,
                   n,
                   k,
                   alpha,
                   {A, t, lda},
                   {B, t, ldb},
                   beta,
                   {C, t, ldc},
                   CUBLAS_COMPUTE_16F,
                   batches,
                   true},
                  {"cublasHgemmBatched", FB_CALLER});
}

FB_API cublasStatus_t FB_NAME(cublasSgemmStridedBatched)(FB_PRODUCT, const float* alpha, const float* A, FB_INT lda,
                                                         long long int strideA, const float* B, FB_INT ldb,
                                                         long long int strideB, const float* beta, float* C, FB_INT ldc,
                                                         long long int strideC, FB_INT batches) {
  constexpr auto t = CUDA_R_32F;
  return multiply({handle,
                   transa,
                   transb,
                   m,
                   n,
                   k,
                   alpha,
                   {A, t, lda, strideA},
                   {B, t, ldb, strideB},
                   beta,
                   {C, t, ldc, strideC},
                   CUBLAS_COMPUTE_32F,
                   batches},
                  {"cublasSgemmStridedBatched", FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(cublasDgemmStridedBatched)(FB_PRODUCT, const double* alpha, const double* A, FB_INT lda,
                                                         long long int strideA, const double* B, FB_INT ldb,
                                                         long long int strideB, const double* beta, double* C,
                                                         FB_INT ldc, long long int strideC, FB_INT batches) {
  constexpr auto t = CUDA_R_64F;
  return multiply({handle,
                   transa,
                   transb,
                   m,
                   n,
                   k,
                   alpha,
                   {A, t, lda, strideA},
                   {B, t, ldb, strideB},
                   beta,
                   {C, t, ldc, strideC},
                   CUBLAS_COMPUTE_64F,
                   batches},
                  {"cublasDgemmStridedBatched", FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(cublasHgemmStridedBatched)(FB_PRODUCT, const __half* alpha, const __half* A, FB_INT lda,
                                                         long long int strideA, const __half* B, FB_INT ldb,
                                                         long long int strideB, const __half* beta, __half* C,
                                                         FB_INT ldc, long long int strideC, FB_INT batches) {
  constexpr auto t = CUDA_R_16F;
  return multiply({handle,
                   transa,
                   transb,
                   m,
                   n,
                   k,
                   alpha,
                   {A, t, lda, strideA},
                   {B, t, ldb, strideB},
                   beta,
                   {C, t, ldc, strideC},
                   CUBLAS_COMPUTE_16F,
                   batches},
                  {"cublasHgemmStridedBatched", FB_CALLER});
}

FB_API cublasStatus_t FB_NAME(cublasSgemmEx)(FB_PRODUCT, const float* alpha, const void* A, cudaDataType Atype,
                                             FB_INT lda, const void* B, cudaDataType Btype, FB_INT ldb,
                                             const float* beta, void* C, cudaDataType Ctype, FB_INT ldc) {
  return multiply({handle,
                   transa,
                   transb,
                   m,
                   n,
                   k,
                   alpha,
                   {A, Atype, lda},
                   {B, Btype, ldb},
                   beta,
                   {C, Ctype, ldc},
                   CUBLAS_COMPUTE_32F},
                  {"cublasSgemmEx", FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(cublasGemmEx)(FB_PRODUCT, const void* alpha, const void* A, cudaDataType Atype,
                                            FB_INT lda, const void* B, cudaDataType Btype, FB_INT ldb, const void* beta,
                                            void* C, cudaDataType Ctype, FB_INT ldc, cublasComputeType_t compute,
                                            cublasGemmAlgo_t) {
  return multiply(
      {handle, transa, transb, m, n, k, alpha, {A, Atype, lda}, {B, Btype, ldb}, beta, {C, Ctype, ldc}, compute},
      {"cublasGemmEx", FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(cublasGemmBatchedEx)(FB_PRODUCT, const void* alpha, const void* const A[],
                                                   cudaDataType Atype, FB_INT lda, const void* const B[],
                                                   cudaDataType Btype, FB_INT ldb, const void* beta, void* const C[],
                                                   cudaDataType Ctype, FB_INT ldc, FB_INT batches,
                                                   cublasComputeType_t compute, cublasGemmAlgo_t) {
  return multiply({handle,
                   transa,
                   transb,
                   m,
                   n,
                   k,
                   alpha,
                   {A, Atype, lda},
                   {B, Btype, ldb},
                   beta,
                   {C, Ctype, ldc},
                   compute,
                   batches,
                   true},
                  {"cublasGemmBatchedEx", FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(cublasGemmStridedBatchedEx)(
    FB_PRODUCT, const void* alpha, const void* A, cudaDataType Atype, FB_INT lda, long long int strideA, const void* B,
    cudaDataType Btype, FB_INT ldb, long long int strideB, const void* beta, void* C, cudaDataType Ctype, FB_INT ldc,
    long long int strideC, FB_INT batches, cublasComputeType_t compute, cublasGemmAlgo_t) {
  return multiply({handle,
                   transa,
                   transb,
                   m,
                   n,
                   k,
                   alpha,
                   {A, Atype, lda, strideA},
                   {B, Btype, ldb, strideB},
                   beta,
                   {C, Ctype, ldc, strideC},
                   compute,
                   batches},
                  {"cublasGemmStridedBatchedEx", FB_CALLER});
}
#undef FB_PRODUCT
