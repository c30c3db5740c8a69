// Functions of vectors and of matrices with vectors for one type and width: FB_TYPE, FB_INT; FB_NAME(stem) is
// cublasS<stem> and what names of that width end in, FB_TEXT(stem) its name in reports, FB_INDEX(which)
// cublasIs<which>.

FB_API cublasStatus_t FB_NAME(axpy, _v2)(cublasHandle_t handle, FB_INT n, const FB_TYPE* alpha, const FB_TYPE* x,
                                         FB_INT incx, FB_TYPE* y, FB_INT incy) {
  return update(
      {handle, BlasKind::add_scaled, n, alpha, kType<FB_TYPE>, {x, kType<FB_TYPE>, incx}, {y, kType<FB_TYPE>, incy}},
      {FB_TEXT(axpy), FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(scal, _v2)(cublasHandle_t handle, FB_INT n, const FB_TYPE* alpha, FB_TYPE* x,
                                         FB_INT incx) {
  return update({handle, BlasKind::scale_vector, n, alpha, kType<FB_TYPE>, {}, {x, kType<FB_TYPE>, incx}},
                {FB_TEXT(scal), FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(copy, _v2)(cublasHandle_t handle, FB_INT n, const FB_TYPE* x, FB_INT incx, FB_TYPE* y,
                                         FB_INT incy) {
  return update({handle, BlasKind::copy_vector, n, nullptr, {}, {x, kType<FB_TYPE>, incx}, {y, kType<FB_TYPE>, incy}},
                {FB_TEXT(copy), FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(swap, _v2)(cublasHandle_t handle, FB_INT n, FB_TYPE* x, FB_INT incx, FB_TYPE* y,
                                         FB_INT incy) {
  return update({handle, BlasKind::swap_vectors, n, nullptr, {}, {x, kType<FB_TYPE>, incx}, {y, kType<FB_TYPE>, incy}},
                {FB_TEXT(swap), FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(dot, _v2)(cublasHandle_t handle, FB_INT n, const FB_TYPE* x, FB_INT incx,
                                        const FB_TYPE* y, FB_INT incy, FB_TYPE* result) {
  return reduce(
      {handle, BlasKind::dot, n, {x, kType<FB_TYPE>, incx}, {y, kType<FB_TYPE>, incy}, result, kType<FB_TYPE>},
      {FB_TEXT(dot), FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(nrm2, _v2)(cublasHandle_t handle, FB_INT n, const FB_TYPE* x, FB_INT incx,
                                         FB_TYPE* result) {
  return reduce({handle, BlasKind::norm, n, {x, kType<FB_TYPE>, incx}, {}, result, kType<FB_TYPE>},
                {FB_TEXT(nrm2), FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(asum, _v2)(cublasHandle_t handle, FB_INT n, const FB_TYPE* x, FB_INT incx,
                                         FB_TYPE* result) {
  return reduce({handle, BlasKind::sum_of_moduli, n, {x, kType<FB_TYPE>, incx}, {}, result, kType<FB_TYPE>},
                {FB_TEXT(asum), FB_CALLER});
}
FB_API cublasStatus_t FB_INDEX(amax)(cublasHandle_t handle, FB_INT n, const FB_TYPE* x, FB_INT incx, FB_INT* result) {
  return reduce({handle, BlasKind::index_of_most, n, {x, kType<FB_TYPE>, incx}, {}, result, kType<FB_INT>},
                {FB_INDEX_TEXT(amax), FB_CALLER});
}
FB_API cublasStatus_t FB_INDEX(amin)(cublasHandle_t handle, FB_INT n, const FB_TYPE* x, FB_INT incx, FB_INT* result) {
  return reduce({handle, BlasKind::index_of_least, n, {x, kType<FB_TYPE>, incx}, {}, result, kType<FB_INT>},
                {FB_INDEX_TEXT(amin), FB_CALLER});
}

FB_API cublasStatus_t FB_NAME(gemv, _v2)(cublasHandle_t handle, cublasOperation_t trans, FB_INT m, FB_INT n,
                                         const FB_TYPE* alpha, const FB_TYPE* A, FB_INT lda, const FB_TYPE* x,
                                         FB_INT incx, const FB_TYPE* beta, FB_TYPE* y, FB_INT incy) {
  return multiply_vector({handle, trans, m, n, alpha, A, lda, 0, x, incx, 0, beta, y, incy, 0, kType<FB_TYPE>},
                         {FB_TEXT(gemv), FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(gemvBatched, )(cublasHandle_t handle, cublasOperation_t trans, FB_INT m, FB_INT n,
                                             const FB_TYPE* alpha, const FB_TYPE* const A[], FB_INT lda,
                                             const FB_TYPE* const x[], FB_INT incx, const FB_TYPE* beta,
                                             FB_TYPE* const y[], FB_INT incy, FB_INT batches) {
  return multiply_vector(
      {handle, trans, m, n, alpha, A, lda, 0, x, incx, 0, beta, y, incy, 0, kType<FB_TYPE>, batches, true},
      {FB_TEXT(gemvBatched), FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(gemvStridedBatched, )(cublasHandle_t handle, cublasOperation_t trans, FB_INT m, FB_INT n,
                                                    const FB_TYPE* alpha, const FB_TYPE* A, FB_INT lda,
                                                    long long int strideA, const FB_TYPE* x, FB_INT incx,
                                                    long long int stridex, const FB_TYPE* beta, FB_TYPE* y, FB_INT incy,
                                                    long long int stridey, FB_INT batches) {
  return multiply_vector(
      {handle, trans, m, n, alpha, A, lda, strideA, x, incx, stridex, beta, y, incy, stridey, kType<FB_TYPE>, batches},
      {FB_TEXT(gemvStridedBatched), FB_CALLER});
}
FB_API cublasStatus_t FB_NAME(ger, _v2)(cublasHandle_t handle, FB_INT m, FB_INT n, const FB_TYPE* alpha,
                                        const FB_TYPE* x, FB_INT incx, const FB_TYPE* y, FB_INT incy, FB_TYPE* A,
                                        FB_INT lda) {
  return add_outer_product({handle, m, n, alpha, {x, kType<FB_TYPE>, incx}, {y, kType<FB_TYPE>, incy}, A, lda},
                           {FB_TEXT(ger), FB_CALLER});
}
