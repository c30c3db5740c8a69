// Functions of vectors that name their types, for sizes of FB_INT.

FB_API cublasStatus_t FB_NAME(cublasAxpyEx)(cublasHandle_t handle, FB_INT n, const void* alpha, cudaDataType alphaType,
                                            const void* x, cudaDataType xType, FB_INT incx, void* y, cudaDataType yType,
                                            FB_INT incy, cudaDataType executionType) {
  ExTypes types;
  if (const cublasStatus_t s = check_types({xType, yType}, alphaType, executionType, types); s != CUBLAS_STATUS_SUCCESS)
    return is_handle(handle) ? s : CUBLAS_STATUS_NOT_INITIALIZED;
  return update(
      {handle, BlasKind::add_scaled, n, alpha, types.scalar, {x, types.element, incx}, {y, types.element, incy}},
      {"cublasAxpyEx", FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(cublasScalEx)(cublasHandle_t handle, FB_INT n, const void* alpha, cudaDataType alphaType,
                                            void* x, cudaDataType xType, FB_INT incx, cudaDataType executionType) {
  ExTypes types;
  if (const cublasStatus_t s = check_types({xType}, alphaType, executionType, types); s != CUBLAS_STATUS_SUCCESS)
    return is_handle(handle) ? s : CUBLAS_STATUS_NOT_INITIALIZED;
  return update({handle, BlasKind::scale_vector, n, alpha, types.scalar, {}, {x, types.element, incx}},
                {"cublasScalEx", FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(cublasDotEx)(cublasHandle_t handle, FB_INT n, const void* x, cudaDataType xType,
                                           FB_INT incx, const void* y, cudaDataType yType, FB_INT incy, void* result,
                                           cudaDataType resultType, cudaDataType executionType) {
  ExTypes types;
  if (const cublasStatus_t s = check_types({xType, yType, resultType}, resultType, executionType, types);
      s != CUBLAS_STATUS_SUCCESS)
    return is_handle(handle) ? s : CUBLAS_STATUS_NOT_INITIALIZED;
  return reduce({handle, BlasKind::dot, n, {x, types.element, incx}, {y, types.element, incy}, result, types.element},
                {"cublasDotEx", FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(cublasDotcEx)(cublasHandle_t handle, FB_INT n, const void* x, cudaDataType xType,
                                            FB_INT incx, const void* y, cudaDataType yType, FB_INT incy, void* result,
                                            cudaDataType resultType, cudaDataType executionType) {
  return FB_NAME(cublasDotEx)(handle, n, x, xType, incx, y, yType, incy, result, resultType, executionType);
}
FB_API cublasStatus_t FB_NAME(cublasNrm2Ex)(cublasHandle_t handle, FB_INT n, const void* x, cudaDataType xType,
                                            FB_INT incx, void* result, cudaDataType resultType,
                                            cudaDataType executionType) {
  ExTypes types;
  if (const cublasStatus_t s = check_types({xType, resultType}, resultType, executionType, types);
      s != CUBLAS_STATUS_SUCCESS)
    return is_handle(handle) ? s : CUBLAS_STATUS_NOT_INITIALIZED;
  return reduce({handle, BlasKind::norm, n, {x, types.element, incx}, {}, result, types.element},
                {"cublasNrm2Ex", FB_CALLER});
}
