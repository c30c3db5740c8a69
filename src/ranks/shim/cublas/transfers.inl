// Copies between host and device, for sizes of FB_INT.

FB_API cublasStatus_t FB_NAME(cublasSetVector)(FB_INT n, FB_INT size, const void* x, FB_INT incx, void* y,
                                               FB_INT incy) {
  return copy_vector({n, size, x, incx, y, incy}, cudaMemcpyHostToDevice, nullptr, true);
}
FB_API cublasStatus_t FB_NAME(cublasGetVector)(FB_INT n, FB_INT size, const void* x, FB_INT incx, void* y,
                                               FB_INT incy) {
  return copy_vector({n, size, x, incx, y, incy}, cudaMemcpyDeviceToHost, nullptr, true);
}
FB_API cublasStatus_t FB_NAME(cublasSetVectorAsync)(FB_INT n, FB_INT size, const void* x, FB_INT incx, void* y,
                                                    FB_INT incy, cudaStream_t stream) {
  return copy_vector({n, size, x, incx, y, incy}, cudaMemcpyHostToDevice, stream, false);
}
FB_API cublasStatus_t FB_NAME(cublasGetVectorAsync)(FB_INT n, FB_INT size, const void* x, FB_INT incx, void* y,
                                                    FB_INT incy, cudaStream_t stream) {
  return copy_vector({n, size, x, incx, y, incy}, cudaMemcpyDeviceToHost, stream, false);
}
FB_API cublasStatus_t FB_NAME(cublasSetMatrix)(FB_INT rows, FB_INT columns, FB_INT size, const void* A, FB_INT lda,
                                               void* B, FB_INT ldb) {
  return copy_matrix(rows, {columns, size, A, lda, B, ldb}, cudaMemcpyHostToDevice, nullptr, true);
}
FB_API cublasStatus_t FB_NAME(cublasGetMatrix)(FB_INT rows, FB_INT columns, FB_INT size, const void* A, FB_INT lda,
                                               void* B, FB_INT ldb) {
  return copy_matrix(rows, {columns, size, A, lda, B, ldb}, cudaMemcpyDeviceToHost, nullptr, true);
}
FB_API cublasStatus_t FB_NAME(cublasSetMatrixAsync)(FB_INT rows, FB_INT columns, FB_INT size, const void* A, FB_INT lda,
                                                    void* B, FB_INT ldb, cudaStream_t stream) {
  return copy_matrix(rows, {columns, size, A, lda, B, ldb}, cudaMemcpyHostToDevice, stream, false);
}
FB_API cublasStatus_t FB_NAME(cublasGetMatrixAsync)(FB_INT rows, FB_INT columns, FB_INT size, const void* A, FB_INT lda,
                                                    void* B, FB_INT ldb, cudaStream_t stream) {
  return copy_matrix(rows, {columns, size, A, lda, B, ldb}, cudaMemcpyDeviceToHost, stream, false);
}
