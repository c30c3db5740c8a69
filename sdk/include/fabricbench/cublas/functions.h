/* Included twice by cublas_api.h, for sizes of FABRICBENCH_INT and names by FABRICBENCH_CUBLAS. */

/* Between host and device */
cublasStatus_t FABRICBENCH_CUBLAS(cublasSetVector)(FABRICBENCH_INT n, FABRICBENCH_INT elemSize, const void* x,
                                                   FABRICBENCH_INT incx, void* device, FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSetVectorAsync)(FABRICBENCH_INT n, FABRICBENCH_INT elemSize, const void* x,
                                                        FABRICBENCH_INT incx, void* device, FABRICBENCH_INT incy,
                                                        cudaStream_t stream);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSetMatrix)(FABRICBENCH_INT rows, FABRICBENCH_INT cols, FABRICBENCH_INT elemSize,
                                                   const void* A, FABRICBENCH_INT lda, void* B, FABRICBENCH_INT ldb);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSetMatrixAsync)(FABRICBENCH_INT rows, FABRICBENCH_INT cols,
                                                        FABRICBENCH_INT elemSize, const void* A, FABRICBENCH_INT lda,
                                                        void* B, FABRICBENCH_INT ldb, cudaStream_t stream);
cublasStatus_t FABRICBENCH_CUBLAS(cublasGetVector)(FABRICBENCH_INT n, FABRICBENCH_INT elemSize, const void* device,
                                                   FABRICBENCH_INT incx, void* y, FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasGetVectorAsync)(FABRICBENCH_INT n, FABRICBENCH_INT elemSize, const void* device,
                                                        FABRICBENCH_INT incx, void* y, FABRICBENCH_INT incy,
                                                        cudaStream_t stream);
cublasStatus_t FABRICBENCH_CUBLAS(cublasGetMatrix)(FABRICBENCH_INT rows, FABRICBENCH_INT cols, FABRICBENCH_INT elemSize,
                                                   const void* A, FABRICBENCH_INT lda, void* B, FABRICBENCH_INT ldb);
cublasStatus_t FABRICBENCH_CUBLAS(cublasGetMatrixAsync)(FABRICBENCH_INT rows, FABRICBENCH_INT cols,
                                                        FABRICBENCH_INT elemSize, const void* A, FABRICBENCH_INT lda,
                                                        void* B, FABRICBENCH_INT ldb, cudaStream_t stream);

/* Vectors */
cublasStatus_t FABRICBENCH_CUBLAS(cublasSaxpy_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const float* alpha,
                                                  const float* x, FABRICBENCH_INT incx, float* y, FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSscal_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const float* alpha,
                                                  float* x, FABRICBENCH_INT incx);
cublasStatus_t FABRICBENCH_CUBLAS(cublasScopy_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const float* x,
                                                  FABRICBENCH_INT incx, float* y, FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSswap_v2)(cublasHandle_t handle, FABRICBENCH_INT n, float* x,
                                                  FABRICBENCH_INT incx, float* y, FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSasum_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const float* x,
                                                  FABRICBENCH_INT incx, float* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSnrm2_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const float* x,
                                                  FABRICBENCH_INT incx, float* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasIsamax_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const float* x,
                                                   FABRICBENCH_INT incx, FABRICBENCH_INT* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasIsamin_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const float* x,
                                                   FABRICBENCH_INT incx, FABRICBENCH_INT* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSdot_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const float* x,
                                                 FABRICBENCH_INT incx, const float* y, FABRICBENCH_INT incy,
                                                 float* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDaxpy_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const double* alpha,
                                                  const double* x, FABRICBENCH_INT incx, double* y,
                                                  FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDscal_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const double* alpha,
                                                  double* x, FABRICBENCH_INT incx);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDcopy_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const double* x,
                                                  FABRICBENCH_INT incx, double* y, FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDswap_v2)(cublasHandle_t handle, FABRICBENCH_INT n, double* x,
                                                  FABRICBENCH_INT incx, double* y, FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDasum_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const double* x,
                                                  FABRICBENCH_INT incx, double* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDnrm2_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const double* x,
                                                  FABRICBENCH_INT incx, double* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasIdamax_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const double* x,
                                                   FABRICBENCH_INT incx, FABRICBENCH_INT* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasIdamin_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const double* x,
                                                   FABRICBENCH_INT incx, FABRICBENCH_INT* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDdot_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const double* x,
                                                 FABRICBENCH_INT incx, const double* y, FABRICBENCH_INT incy,
                                                 double* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCaxpy_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const cuComplex* alpha,
                                                  const cuComplex* x, FABRICBENCH_INT incx, cuComplex* y,
                                                  FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCscal_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const cuComplex* alpha,
                                                  cuComplex* x, FABRICBENCH_INT incx);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCcopy_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const cuComplex* x,
                                                  FABRICBENCH_INT incx, cuComplex* y, FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCswap_v2)(cublasHandle_t handle, FABRICBENCH_INT n, cuComplex* x,
                                                  FABRICBENCH_INT incx, cuComplex* y, FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasScasum_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const cuComplex* x,
                                                   FABRICBENCH_INT incx, float* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasScnrm2_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const cuComplex* x,
                                                   FABRICBENCH_INT incx, float* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasIcamax_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const cuComplex* x,
                                                   FABRICBENCH_INT incx, FABRICBENCH_INT* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasIcamin_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const cuComplex* x,
                                                   FABRICBENCH_INT incx, FABRICBENCH_INT* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCdotu_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const cuComplex* x,
                                                  FABRICBENCH_INT incx, const cuComplex* y, FABRICBENCH_INT incy,
                                                  cuComplex* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCdotc_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const cuComplex* x,
                                                  FABRICBENCH_INT incx, const cuComplex* y, FABRICBENCH_INT incy,
                                                  cuComplex* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZaxpy_v2)(cublasHandle_t handle, FABRICBENCH_INT n,
                                                  const cuDoubleComplex* alpha, const cuDoubleComplex* x,
                                                  FABRICBENCH_INT incx, cuDoubleComplex* y, FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZscal_v2)(cublasHandle_t handle, FABRICBENCH_INT n,
                                                  const cuDoubleComplex* alpha, cuDoubleComplex* x,
                                                  FABRICBENCH_INT incx);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZcopy_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const cuDoubleComplex* x,
                                                  FABRICBENCH_INT incx, cuDoubleComplex* y, FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZswap_v2)(cublasHandle_t handle, FABRICBENCH_INT n, cuDoubleComplex* x,
                                                  FABRICBENCH_INT incx, cuDoubleComplex* y, FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDzasum_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const cuDoubleComplex* x,
                                                   FABRICBENCH_INT incx, double* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDznrm2_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const cuDoubleComplex* x,
                                                   FABRICBENCH_INT incx, double* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasIzamax_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const cuDoubleComplex* x,
                                                   FABRICBENCH_INT incx, FABRICBENCH_INT* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasIzamin_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const cuDoubleComplex* x,
                                                   FABRICBENCH_INT incx, FABRICBENCH_INT* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZdotu_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const cuDoubleComplex* x,
                                                  FABRICBENCH_INT incx, const cuDoubleComplex* y, FABRICBENCH_INT incy,
                                                  cuDoubleComplex* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZdotc_v2)(cublasHandle_t handle, FABRICBENCH_INT n, const cuDoubleComplex* x,
                                                  FABRICBENCH_INT incx, const cuDoubleComplex* y, FABRICBENCH_INT incy,
                                                  cuDoubleComplex* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSrot_v2)(cublasHandle_t handle, FABRICBENCH_INT n, float* x,
                                                 FABRICBENCH_INT incx, float* y, FABRICBENCH_INT incy, const float* c,
                                                 const float* s);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDrot_v2)(cublasHandle_t handle, FABRICBENCH_INT n, double* x,
                                                 FABRICBENCH_INT incx, double* y, FABRICBENCH_INT incy, const double* c,
                                                 const double* s);
cublasStatus_t FABRICBENCH_CUBLAS(cublasAxpyEx)(cublasHandle_t handle, FABRICBENCH_INT n, const void* alpha,
                                                cudaDataType alphaType, const void* x, cudaDataType xType,
                                                FABRICBENCH_INT incx, void* y, cudaDataType yType, FABRICBENCH_INT incy,
                                                cudaDataType executionType);
cublasStatus_t FABRICBENCH_CUBLAS(cublasScalEx)(cublasHandle_t handle, FABRICBENCH_INT n, const void* alpha,
                                                cudaDataType alphaType, void* x, cudaDataType xType,
                                                FABRICBENCH_INT incx, cudaDataType executionType);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCopyEx)(cublasHandle_t handle, FABRICBENCH_INT n, const void* x,
                                                cudaDataType xType, FABRICBENCH_INT incx, void* y, cudaDataType yType,
                                                FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSwapEx)(cublasHandle_t handle, FABRICBENCH_INT n, void* x, cudaDataType xType,
                                                FABRICBENCH_INT incx, void* y, cudaDataType yType,
                                                FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDotEx)(cublasHandle_t handle, FABRICBENCH_INT n, const void* x,
                                               cudaDataType xType, FABRICBENCH_INT incx, const void* y,
                                               cudaDataType yType, FABRICBENCH_INT incy, void* result,
                                               cudaDataType resultType, cudaDataType executionType);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDotcEx)(cublasHandle_t handle, FABRICBENCH_INT n, const void* x,
                                                cudaDataType xType, FABRICBENCH_INT incx, const void* y,
                                                cudaDataType yType, FABRICBENCH_INT incy, void* result,
                                                cudaDataType resultType, cudaDataType executionType);
cublasStatus_t FABRICBENCH_CUBLAS(cublasNrm2Ex)(cublasHandle_t handle, FABRICBENCH_INT n, const void* x,
                                                cudaDataType xType, FABRICBENCH_INT incx, void* result,
                                                cudaDataType resultType, cudaDataType executionType);
cublasStatus_t FABRICBENCH_CUBLAS(cublasAsumEx)(cublasHandle_t handle, FABRICBENCH_INT n, const void* x,
                                                cudaDataType xType, FABRICBENCH_INT incx, void* result,
                                                cudaDataType resultType, cudaDataType executionType);
cublasStatus_t FABRICBENCH_CUBLAS(cublasIamaxEx)(cublasHandle_t handle, FABRICBENCH_INT n, const void* x,
                                                 cudaDataType xType, FABRICBENCH_INT incx, FABRICBENCH_INT* result);
cublasStatus_t FABRICBENCH_CUBLAS(cublasIaminEx)(cublasHandle_t handle, FABRICBENCH_INT n, const void* x,
                                                 cudaDataType xType, FABRICBENCH_INT incx, FABRICBENCH_INT* result);

/* Matrices and vectors */
cublasStatus_t FABRICBENCH_CUBLAS(cublasSgemv_v2)(cublasHandle_t handle, cublasOperation_t trans, FABRICBENCH_INT m,
                                                  FABRICBENCH_INT n, const float* alpha, const float* A,
                                                  FABRICBENCH_INT lda, const float* x, FABRICBENCH_INT incx,
                                                  const float* beta, float* y, FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSgemvBatched)(cublasHandle_t handle, cublasOperation_t trans, FABRICBENCH_INT m,
                                                      FABRICBENCH_INT n, const float* alpha,
                                                      const float* const Aarray[], FABRICBENCH_INT lda,
                                                      const float* const xarray[], FABRICBENCH_INT incx,
                                                      const float* beta, float* const yarray[], FABRICBENCH_INT incy,
                                                      FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSgemvStridedBatched)(cublasHandle_t handle, cublasOperation_t trans,
                                                             FABRICBENCH_INT m, FABRICBENCH_INT n, const float* alpha,
                                                             const float* A, FABRICBENCH_INT lda, long long int strideA,
                                                             const float* x, FABRICBENCH_INT incx,
                                                             long long int stridex, const float* beta, float* y,
                                                             FABRICBENCH_INT incy, long long int stridey,
                                                             FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSger_v2)(cublasHandle_t handle, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                                 const float* alpha, const float* x, FABRICBENCH_INT incx,
                                                 const float* y, FABRICBENCH_INT incy, float* A, FABRICBENCH_INT lda);
cublasStatus_t FABRICBENCH_CUBLAS(cublasStrsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                                                  cublasDiagType_t diag, FABRICBENCH_INT n, const float* A,
                                                  FABRICBENCH_INT lda, float* x, FABRICBENCH_INT incx);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDgemv_v2)(cublasHandle_t handle, cublasOperation_t trans, FABRICBENCH_INT m,
                                                  FABRICBENCH_INT n, const double* alpha, const double* A,
                                                  FABRICBENCH_INT lda, const double* x, FABRICBENCH_INT incx,
                                                  const double* beta, double* y, FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDgemvBatched)(cublasHandle_t handle, cublasOperation_t trans, FABRICBENCH_INT m,
                                                      FABRICBENCH_INT n, const double* alpha,
                                                      const double* const Aarray[], FABRICBENCH_INT lda,
                                                      const double* const xarray[], FABRICBENCH_INT incx,
                                                      const double* beta, double* const yarray[], FABRICBENCH_INT incy,
                                                      FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDgemvStridedBatched)(cublasHandle_t handle, cublasOperation_t trans,
                                                             FABRICBENCH_INT m, FABRICBENCH_INT n, const double* alpha,
                                                             const double* A, FABRICBENCH_INT lda,
                                                             long long int strideA, const double* x,
                                                             FABRICBENCH_INT incx, long long int stridex,
                                                             const double* beta, double* y, FABRICBENCH_INT incy,
                                                             long long int stridey, FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDger_v2)(cublasHandle_t handle, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                                 const double* alpha, const double* x, FABRICBENCH_INT incx,
                                                 const double* y, FABRICBENCH_INT incy, double* A, FABRICBENCH_INT lda);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDtrsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                                                  cublasDiagType_t diag, FABRICBENCH_INT n, const double* A,
                                                  FABRICBENCH_INT lda, double* x, FABRICBENCH_INT incx);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCgemv_v2)(cublasHandle_t handle, cublasOperation_t trans, FABRICBENCH_INT m,
                                                  FABRICBENCH_INT n, const cuComplex* alpha, const cuComplex* A,
                                                  FABRICBENCH_INT lda, const cuComplex* x, FABRICBENCH_INT incx,
                                                  const cuComplex* beta, cuComplex* y, FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCgemvBatched)(cublasHandle_t handle, cublasOperation_t trans, FABRICBENCH_INT m,
                                                      FABRICBENCH_INT n, const cuComplex* alpha,
                                                      const cuComplex* const Aarray[], FABRICBENCH_INT lda,
                                                      const cuComplex* const xarray[], FABRICBENCH_INT incx,
                                                      const cuComplex* beta, cuComplex* const yarray[],
                                                      FABRICBENCH_INT incy, FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCgemvStridedBatched)(
    cublasHandle_t handle, cublasOperation_t trans, FABRICBENCH_INT m, FABRICBENCH_INT n, const cuComplex* alpha,
    const cuComplex* A, FABRICBENCH_INT lda, long long int strideA, const cuComplex* x, FABRICBENCH_INT incx,
    long long int stridex, const cuComplex* beta, cuComplex* y, FABRICBENCH_INT incy, long long int stridey,
    FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCtrsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                                                  cublasDiagType_t diag, FABRICBENCH_INT n, const cuComplex* A,
                                                  FABRICBENCH_INT lda, cuComplex* x, FABRICBENCH_INT incx);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZgemv_v2)(cublasHandle_t handle, cublasOperation_t trans, FABRICBENCH_INT m,
                                                  FABRICBENCH_INT n, const cuDoubleComplex* alpha,
                                                  const cuDoubleComplex* A, FABRICBENCH_INT lda,
                                                  const cuDoubleComplex* x, FABRICBENCH_INT incx,
                                                  const cuDoubleComplex* beta, cuDoubleComplex* y,
                                                  FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZgemvBatched)(cublasHandle_t handle, cublasOperation_t trans, FABRICBENCH_INT m,
                                                      FABRICBENCH_INT n, const cuDoubleComplex* alpha,
                                                      const cuDoubleComplex* const Aarray[], FABRICBENCH_INT lda,
                                                      const cuDoubleComplex* const xarray[], FABRICBENCH_INT incx,
                                                      const cuDoubleComplex* beta, cuDoubleComplex* const yarray[],
                                                      FABRICBENCH_INT incy, FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZgemvStridedBatched)(
    cublasHandle_t handle, cublasOperation_t trans, FABRICBENCH_INT m, FABRICBENCH_INT n, const cuDoubleComplex* alpha,
    const cuDoubleComplex* A, FABRICBENCH_INT lda, long long int strideA, const cuDoubleComplex* x,
    FABRICBENCH_INT incx, long long int stridex, const cuDoubleComplex* beta, cuDoubleComplex* y, FABRICBENCH_INT incy,
    long long int stridey, FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZtrsv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                                                  cublasDiagType_t diag, FABRICBENCH_INT n, const cuDoubleComplex* A,
                                                  FABRICBENCH_INT lda, cuDoubleComplex* x, FABRICBENCH_INT incx);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSsymv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, FABRICBENCH_INT n,
                                                  const float* alpha, const float* A, FABRICBENCH_INT lda,
                                                  const float* x, FABRICBENCH_INT incx, const float* beta, float* y,
                                                  FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSsyr_v2)(cublasHandle_t handle, cublasFillMode_t uplo, FABRICBENCH_INT n,
                                                 const float* alpha, const float* x, FABRICBENCH_INT incx, float* A,
                                                 FABRICBENCH_INT lda);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDsymv_v2)(cublasHandle_t handle, cublasFillMode_t uplo, FABRICBENCH_INT n,
                                                  const double* alpha, const double* A, FABRICBENCH_INT lda,
                                                  const double* x, FABRICBENCH_INT incx, const double* beta, double* y,
                                                  FABRICBENCH_INT incy);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDsyr_v2)(cublasHandle_t handle, cublasFillMode_t uplo, FABRICBENCH_INT n,
                                                 const double* alpha, const double* x, FABRICBENCH_INT incx, double* A,
                                                 FABRICBENCH_INT lda);

/* Products of matrices */
cublasStatus_t FABRICBENCH_CUBLAS(cublasSgemm_v2)(cublasHandle_t handle, cublasOperation_t transa,
                                                  cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                                  FABRICBENCH_INT k, const float* alpha, const float* A,
                                                  FABRICBENCH_INT lda, const float* B, FABRICBENCH_INT ldb,
                                                  const float* beta, float* C, FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSgemmBatched)(cublasHandle_t handle, cublasOperation_t transa,
                                                      cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                                      FABRICBENCH_INT k, const float* alpha,
                                                      const float* const Aarray[], FABRICBENCH_INT lda,
                                                      const float* const Barray[], FABRICBENCH_INT ldb,
                                                      const float* beta, float* const Carray[], FABRICBENCH_INT ldc,
                                                      FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSgemmStridedBatched)(cublasHandle_t handle, cublasOperation_t transa,
                                                             cublasOperation_t transb, FABRICBENCH_INT m,
                                                             FABRICBENCH_INT n, FABRICBENCH_INT k, const float* alpha,
                                                             const float* A, FABRICBENCH_INT lda, long long int strideA,
                                                             const float* B, FABRICBENCH_INT ldb, long long int strideB,
                                                             const float* beta, float* C, FABRICBENCH_INT ldc,
                                                             long long int strideC, FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDgemm_v2)(cublasHandle_t handle, cublasOperation_t transa,
                                                  cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                                  FABRICBENCH_INT k, const double* alpha, const double* A,
                                                  FABRICBENCH_INT lda, const double* B, FABRICBENCH_INT ldb,
                                                  const double* beta, double* C, FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDgemmBatched)(cublasHandle_t handle, cublasOperation_t transa,
                                                      cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                                      FABRICBENCH_INT k, const double* alpha,
                                                      const double* const Aarray[], FABRICBENCH_INT lda,
                                                      const double* const Barray[], FABRICBENCH_INT ldb,
                                                      const double* beta, double* const Carray[], FABRICBENCH_INT ldc,
                                                      FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDgemmStridedBatched)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
    FABRICBENCH_INT k, const double* alpha, const double* A, FABRICBENCH_INT lda, long long int strideA,
    const double* B, FABRICBENCH_INT ldb, long long int strideB, const double* beta, double* C, FABRICBENCH_INT ldc,
    long long int strideC, FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCgemm_v2)(cublasHandle_t handle, cublasOperation_t transa,
                                                  cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                                  FABRICBENCH_INT k, const cuComplex* alpha, const cuComplex* A,
                                                  FABRICBENCH_INT lda, const cuComplex* B, FABRICBENCH_INT ldb,
                                                  const cuComplex* beta, cuComplex* C, FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCgemmBatched)(cublasHandle_t handle, cublasOperation_t transa,
                                                      cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                                      FABRICBENCH_INT k, const cuComplex* alpha,
                                                      const cuComplex* const Aarray[], FABRICBENCH_INT lda,
                                                      const cuComplex* const Barray[], FABRICBENCH_INT ldb,
                                                      const cuComplex* beta, cuComplex* const Carray[],
                                                      FABRICBENCH_INT ldc, FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCgemmStridedBatched)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
    FABRICBENCH_INT k, const cuComplex* alpha, const cuComplex* A, FABRICBENCH_INT lda, long long int strideA,
    const cuComplex* B, FABRICBENCH_INT ldb, long long int strideB, const cuComplex* beta, cuComplex* C,
    FABRICBENCH_INT ldc, long long int strideC, FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZgemm_v2)(cublasHandle_t handle, cublasOperation_t transa,
                                                  cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                                  FABRICBENCH_INT k, const cuDoubleComplex* alpha,
                                                  const cuDoubleComplex* A, FABRICBENCH_INT lda,
                                                  const cuDoubleComplex* B, FABRICBENCH_INT ldb,
                                                  const cuDoubleComplex* beta, cuDoubleComplex* C, FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZgemmBatched)(cublasHandle_t handle, cublasOperation_t transa,
                                                      cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                                      FABRICBENCH_INT k, const cuDoubleComplex* alpha,
                                                      const cuDoubleComplex* const Aarray[], FABRICBENCH_INT lda,
                                                      const cuDoubleComplex* const Barray[], FABRICBENCH_INT ldb,
                                                      const cuDoubleComplex* beta, cuDoubleComplex* const Carray[],
                                                      FABRICBENCH_INT ldc, FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZgemmStridedBatched)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
    FABRICBENCH_INT k, const cuDoubleComplex* alpha, const cuDoubleComplex* A, FABRICBENCH_INT lda,
    long long int strideA, const cuDoubleComplex* B, FABRICBENCH_INT ldb, long long int strideB,
    const cuDoubleComplex* beta, cuDoubleComplex* C, FABRICBENCH_INT ldc, long long int strideC,
    FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasHgemm)(cublasHandle_t handle, cublasOperation_t transa,
                                               cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                               FABRICBENCH_INT k, const __half* alpha, const __half* A,
                                               FABRICBENCH_INT lda, const __half* B, FABRICBENCH_INT ldb,
                                               const __half* beta, __half* C, FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasHgemmBatched)(cublasHandle_t handle, cublasOperation_t transa,
                                                      cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                                      FABRICBENCH_INT k, const __half* alpha,
                                                      const __half* const Aarray[], FABRICBENCH_INT lda,
                                                      const __half* const Barray[], FABRICBENCH_INT ldb,
                                                      const __half* beta, __half* const Carray[], FABRICBENCH_INT ldc,
                                                      FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasHgemmStridedBatched)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
    FABRICBENCH_INT k, const __half* alpha, const __half* A, FABRICBENCH_INT lda, long long int strideA,
    const __half* B, FABRICBENCH_INT ldb, long long int strideB, const __half* beta, __half* C, FABRICBENCH_INT ldc,
    long long int strideC, FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSgemmEx)(cublasHandle_t handle, cublasOperation_t transa,
                                                 cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                                 FABRICBENCH_INT k, const float* alpha, const void* A,
                                                 cudaDataType Atype, FABRICBENCH_INT lda, const void* B,
                                                 cudaDataType Btype, FABRICBENCH_INT ldb, const float* beta, void* C,
                                                 cudaDataType Ctype, FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasGemmEx)(cublasHandle_t handle, cublasOperation_t transa,
                                                cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                                FABRICBENCH_INT k, const void* alpha, const void* A, cudaDataType Atype,
                                                FABRICBENCH_INT lda, const void* B, cudaDataType Btype,
                                                FABRICBENCH_INT ldb, const void* beta, void* C, cudaDataType Ctype,
                                                FABRICBENCH_INT ldc, cublasComputeType_t computeType,
                                                cublasGemmAlgo_t algo);
cublasStatus_t FABRICBENCH_CUBLAS(cublasGemmBatchedEx)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
    FABRICBENCH_INT k, const void* alpha, const void* const Aarray[], cudaDataType Atype, FABRICBENCH_INT lda,
    const void* const Barray[], cudaDataType Btype, FABRICBENCH_INT ldb, const void* beta, void* const Carray[],
    cudaDataType Ctype, FABRICBENCH_INT ldc, FABRICBENCH_INT batchCount, cublasComputeType_t computeType,
    cublasGemmAlgo_t algo);
cublasStatus_t FABRICBENCH_CUBLAS(cublasGemmStridedBatchedEx)(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
    FABRICBENCH_INT k, const void* alpha, const void* A, cudaDataType Atype, FABRICBENCH_INT lda, long long int strideA,
    const void* B, cudaDataType Btype, FABRICBENCH_INT ldb, long long int strideB, const void* beta, void* C,
    cudaDataType Ctype, FABRICBENCH_INT ldc, long long int strideC, FABRICBENCH_INT batchCount,
    cublasComputeType_t computeType, cublasGemmAlgo_t algo);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSgemmGroupedBatched)(
    cublasHandle_t handle, const cublasOperation_t transa[], const cublasOperation_t transb[],
    const FABRICBENCH_INT m[], const FABRICBENCH_INT n[], const FABRICBENCH_INT k[], const float alpha[],
    const float* const Aarray[], const FABRICBENCH_INT lda[], const float* const Barray[], const FABRICBENCH_INT ldb[],
    const float beta[], float* const Carray[], const FABRICBENCH_INT ldc[], FABRICBENCH_INT group_count,
    const FABRICBENCH_INT group_size[]);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDgemmGroupedBatched)(
    cublasHandle_t handle, const cublasOperation_t transa[], const cublasOperation_t transb[],
    const FABRICBENCH_INT m[], const FABRICBENCH_INT n[], const FABRICBENCH_INT k[], const double alpha[],
    const double* const Aarray[], const FABRICBENCH_INT lda[], const double* const Barray[],
    const FABRICBENCH_INT ldb[], const double beta[], double* const Carray[], const FABRICBENCH_INT ldc[],
    FABRICBENCH_INT group_count, const FABRICBENCH_INT group_size[]);
cublasStatus_t FABRICBENCH_CUBLAS(cublasGemmGroupedBatchedEx)(
    cublasHandle_t handle, const cublasOperation_t transa[], const cublasOperation_t transb[],
    const FABRICBENCH_INT m[], const FABRICBENCH_INT n[], const FABRICBENCH_INT k[], const void* alpha,
    const void* const Aarray[], cudaDataType Atype, const FABRICBENCH_INT lda[], const void* const Barray[],
    cudaDataType Btype, const FABRICBENCH_INT ldb[], const void* beta, void* const Carray[], cudaDataType Ctype,
    const FABRICBENCH_INT ldc[], FABRICBENCH_INT group_count, const FABRICBENCH_INT group_size[],
    cublasComputeType_t computeType);

/* Other functions of matrices */
cublasStatus_t FABRICBENCH_CUBLAS(cublasSgeam)(cublasHandle_t handle, cublasOperation_t transa,
                                               cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                               const float* alpha, const float* A, FABRICBENCH_INT lda,
                                               const float* beta, const float* B, FABRICBENCH_INT ldb, float* C,
                                               FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSdgmm)(cublasHandle_t handle, cublasSideMode_t mode, FABRICBENCH_INT m,
                                               FABRICBENCH_INT n, const float* A, FABRICBENCH_INT lda, const float* x,
                                               FABRICBENCH_INT incx, float* C, FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSsyrk_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                                                  FABRICBENCH_INT n, FABRICBENCH_INT k, const float* alpha,
                                                  const float* A, FABRICBENCH_INT lda, const float* beta, float* C,
                                                  FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSsyr2k_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                   cublasOperation_t trans, FABRICBENCH_INT n, FABRICBENCH_INT k,
                                                   const float* alpha, const float* A, FABRICBENCH_INT lda,
                                                   const float* B, FABRICBENCH_INT ldb, const float* beta, float* C,
                                                   FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasSsymm_v2)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                                  FABRICBENCH_INT m, FABRICBENCH_INT n, const float* alpha,
                                                  const float* A, FABRICBENCH_INT lda, const float* B,
                                                  FABRICBENCH_INT ldb, const float* beta, float* C,
                                                  FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasStrsm_v2)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                                  cublasOperation_t trans, cublasDiagType_t diag, FABRICBENCH_INT m,
                                                  FABRICBENCH_INT n, const float* alpha, const float* A,
                                                  FABRICBENCH_INT lda, float* B, FABRICBENCH_INT ldb);
cublasStatus_t FABRICBENCH_CUBLAS(cublasStrsmBatched)(cublasHandle_t handle, cublasSideMode_t side,
                                                      cublasFillMode_t uplo, cublasOperation_t trans,
                                                      cublasDiagType_t diag, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                                      const float* alpha, const float* const A[], FABRICBENCH_INT lda,
                                                      float* const B[], FABRICBENCH_INT ldb,
                                                      FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasStrmm_v2)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                                  cublasOperation_t trans, cublasDiagType_t diag, FABRICBENCH_INT m,
                                                  FABRICBENCH_INT n, const float* alpha, const float* A,
                                                  FABRICBENCH_INT lda, const float* B, FABRICBENCH_INT ldb, float* C,
                                                  FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDgeam)(cublasHandle_t handle, cublasOperation_t transa,
                                               cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                               const double* alpha, const double* A, FABRICBENCH_INT lda,
                                               const double* beta, const double* B, FABRICBENCH_INT ldb, double* C,
                                               FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDdgmm)(cublasHandle_t handle, cublasSideMode_t mode, FABRICBENCH_INT m,
                                               FABRICBENCH_INT n, const double* A, FABRICBENCH_INT lda, const double* x,
                                               FABRICBENCH_INT incx, double* C, FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDsyrk_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                                                  FABRICBENCH_INT n, FABRICBENCH_INT k, const double* alpha,
                                                  const double* A, FABRICBENCH_INT lda, const double* beta, double* C,
                                                  FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDsyr2k_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                   cublasOperation_t trans, FABRICBENCH_INT n, FABRICBENCH_INT k,
                                                   const double* alpha, const double* A, FABRICBENCH_INT lda,
                                                   const double* B, FABRICBENCH_INT ldb, const double* beta, double* C,
                                                   FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDsymm_v2)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                                  FABRICBENCH_INT m, FABRICBENCH_INT n, const double* alpha,
                                                  const double* A, FABRICBENCH_INT lda, const double* B,
                                                  FABRICBENCH_INT ldb, const double* beta, double* C,
                                                  FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDtrsm_v2)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                                  cublasOperation_t trans, cublasDiagType_t diag, FABRICBENCH_INT m,
                                                  FABRICBENCH_INT n, const double* alpha, const double* A,
                                                  FABRICBENCH_INT lda, double* B, FABRICBENCH_INT ldb);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDtrsmBatched)(cublasHandle_t handle, cublasSideMode_t side,
                                                      cublasFillMode_t uplo, cublasOperation_t trans,
                                                      cublasDiagType_t diag, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                                      const double* alpha, const double* const A[], FABRICBENCH_INT lda,
                                                      double* const B[], FABRICBENCH_INT ldb,
                                                      FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasDtrmm_v2)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                                  cublasOperation_t trans, cublasDiagType_t diag, FABRICBENCH_INT m,
                                                  FABRICBENCH_INT n, const double* alpha, const double* A,
                                                  FABRICBENCH_INT lda, const double* B, FABRICBENCH_INT ldb, double* C,
                                                  FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCgeam)(cublasHandle_t handle, cublasOperation_t transa,
                                               cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                               const cuComplex* alpha, const cuComplex* A, FABRICBENCH_INT lda,
                                               const cuComplex* beta, const cuComplex* B, FABRICBENCH_INT ldb,
                                               cuComplex* C, FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCdgmm)(cublasHandle_t handle, cublasSideMode_t mode, FABRICBENCH_INT m,
                                               FABRICBENCH_INT n, const cuComplex* A, FABRICBENCH_INT lda,
                                               const cuComplex* x, FABRICBENCH_INT incx, cuComplex* C,
                                               FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCsyrk_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                                                  FABRICBENCH_INT n, FABRICBENCH_INT k, const cuComplex* alpha,
                                                  const cuComplex* A, FABRICBENCH_INT lda, const cuComplex* beta,
                                                  cuComplex* C, FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCsyr2k_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                   cublasOperation_t trans, FABRICBENCH_INT n, FABRICBENCH_INT k,
                                                   const cuComplex* alpha, const cuComplex* A, FABRICBENCH_INT lda,
                                                   const cuComplex* B, FABRICBENCH_INT ldb, const cuComplex* beta,
                                                   cuComplex* C, FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCsymm_v2)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                                  FABRICBENCH_INT m, FABRICBENCH_INT n, const cuComplex* alpha,
                                                  const cuComplex* A, FABRICBENCH_INT lda, const cuComplex* B,
                                                  FABRICBENCH_INT ldb, const cuComplex* beta, cuComplex* C,
                                                  FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCtrsm_v2)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                                  cublasOperation_t trans, cublasDiagType_t diag, FABRICBENCH_INT m,
                                                  FABRICBENCH_INT n, const cuComplex* alpha, const cuComplex* A,
                                                  FABRICBENCH_INT lda, cuComplex* B, FABRICBENCH_INT ldb);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCtrsmBatched)(cublasHandle_t handle, cublasSideMode_t side,
                                                      cublasFillMode_t uplo, cublasOperation_t trans,
                                                      cublasDiagType_t diag, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                                      const cuComplex* alpha, const cuComplex* const A[],
                                                      FABRICBENCH_INT lda, cuComplex* const B[], FABRICBENCH_INT ldb,
                                                      FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasCtrmm_v2)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                                  cublasOperation_t trans, cublasDiagType_t diag, FABRICBENCH_INT m,
                                                  FABRICBENCH_INT n, const cuComplex* alpha, const cuComplex* A,
                                                  FABRICBENCH_INT lda, const cuComplex* B, FABRICBENCH_INT ldb,
                                                  cuComplex* C, FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZgeam)(cublasHandle_t handle, cublasOperation_t transa,
                                               cublasOperation_t transb, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                               const cuDoubleComplex* alpha, const cuDoubleComplex* A,
                                               FABRICBENCH_INT lda, const cuDoubleComplex* beta,
                                               const cuDoubleComplex* B, FABRICBENCH_INT ldb, cuDoubleComplex* C,
                                               FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZdgmm)(cublasHandle_t handle, cublasSideMode_t mode, FABRICBENCH_INT m,
                                               FABRICBENCH_INT n, const cuDoubleComplex* A, FABRICBENCH_INT lda,
                                               const cuDoubleComplex* x, FABRICBENCH_INT incx, cuDoubleComplex* C,
                                               FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZsyrk_v2)(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                                                  FABRICBENCH_INT n, FABRICBENCH_INT k, const cuDoubleComplex* alpha,
                                                  const cuDoubleComplex* A, FABRICBENCH_INT lda,
                                                  const cuDoubleComplex* beta, cuDoubleComplex* C, FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZsyr2k_v2)(cublasHandle_t handle, cublasFillMode_t uplo,
                                                   cublasOperation_t trans, FABRICBENCH_INT n, FABRICBENCH_INT k,
                                                   const cuDoubleComplex* alpha, const cuDoubleComplex* A,
                                                   FABRICBENCH_INT lda, const cuDoubleComplex* B, FABRICBENCH_INT ldb,
                                                   const cuDoubleComplex* beta, cuDoubleComplex* C,
                                                   FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZsymm_v2)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                                  FABRICBENCH_INT m, FABRICBENCH_INT n, const cuDoubleComplex* alpha,
                                                  const cuDoubleComplex* A, FABRICBENCH_INT lda,
                                                  const cuDoubleComplex* B, FABRICBENCH_INT ldb,
                                                  const cuDoubleComplex* beta, cuDoubleComplex* C, FABRICBENCH_INT ldc);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZtrsm_v2)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                                  cublasOperation_t trans, cublasDiagType_t diag, FABRICBENCH_INT m,
                                                  FABRICBENCH_INT n, const cuDoubleComplex* alpha,
                                                  const cuDoubleComplex* A, FABRICBENCH_INT lda, cuDoubleComplex* B,
                                                  FABRICBENCH_INT ldb);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZtrsmBatched)(cublasHandle_t handle, cublasSideMode_t side,
                                                      cublasFillMode_t uplo, cublasOperation_t trans,
                                                      cublasDiagType_t diag, FABRICBENCH_INT m, FABRICBENCH_INT n,
                                                      const cuDoubleComplex* alpha, const cuDoubleComplex* const A[],
                                                      FABRICBENCH_INT lda, cuDoubleComplex* const B[],
                                                      FABRICBENCH_INT ldb, FABRICBENCH_INT batchCount);
cublasStatus_t FABRICBENCH_CUBLAS(cublasZtrmm_v2)(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                                  cublasOperation_t trans, cublasDiagType_t diag, FABRICBENCH_INT m,
                                                  FABRICBENCH_INT n, const cuDoubleComplex* alpha,
                                                  const cuDoubleComplex* A, FABRICBENCH_INT lda,
                                                  const cuDoubleComplex* B, FABRICBENCH_INT ldb, cuDoubleComplex* C,
                                                  FABRICBENCH_INT ldc);
