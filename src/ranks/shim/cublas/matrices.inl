// Functions of two matrices, for sizes of FB_INT.

FB_API cublasStatus_t FB_NAME(cublasSgeam)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                           FB_INT m, FB_INT n, const float* alpha, const float* A, FB_INT lda,
                                           const float* beta, const float* B, FB_INT ldb, float* C, FB_INT ldc) {
  return add_matrices({handle, transa, transb, m, n, alpha, A, lda, beta, B, ldb, C, ldc, ElementType::f32},
                      {"cublasSgeam", FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(cublasDgeam)(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                           FB_INT m, FB_INT n, const double* alpha, const double* A, FB_INT lda,
                                           const double* beta, const double* B, FB_INT ldb, double* C, FB_INT ldc) {
  return add_matrices({handle, transa, transb, m, n, alpha, A, lda, beta, B, ldb, C, ldc, ElementType::f64},
                      {"cublasDgeam", FB_CALLER});
}
