// Wrong arguments of products: the same mistakes for each function.
#pragma once

#include "row.h"

struct Arguments {
  cublasHandle_t handle;
  cublasOperation_t transa = CUBLAS_OP_N, transb = CUBLAS_OP_N;
  int m = kSize, n = kSize, k = kSize, lda = kSize, ldb = kSize, ldc = kSize, batches = 2;
  bool alpha = true, beta = true;
  void* c = fixture().c;
};

struct ProductUnderTest {
  const char* name;
  bool batched;
  std::function<int(const Arguments&)> call;
};

// Pointers on the device for two products.
inline double** pointers(double* to) {
  static std::vector<std::pair<double*, double**>> made;
  for (const auto& [of, at] : made) {
    if (of == to) return at;
  }
  double** at = nullptr;
  double* both[2] = {to, to + kSize * kSize};
  cudaMalloc(&at, sizeof both);
  cudaMemcpy(at, both, sizeof both, cudaMemcpyHostToDevice);
  made.emplace_back(to, at);
  return at;
}

template <class T>
const T* one(bool there) {
  static const T value = T(1.0f);
  return there ? &value : nullptr;
}

inline std::vector<ProductUnderTest> products_under_test() {
  auto& f = fixture();
  const auto plain = [&f](auto function, auto zero) {
    using T = decltype(zero);
    return [&f, function](const Arguments& x) -> int {
      return function(x.handle, x.transa, x.transb, x.m, x.n, x.k, one<T>(x.alpha), as<T>(f.a), x.lda, as<T>(f.b),
                      x.ldb, one<T>(x.beta), static_cast<T*>(x.c), x.ldc);
    };
  };
  const auto strided = [&f](auto function, auto zero) {
    using T = decltype(zero);
    return [&f, function](const Arguments& x) -> int {
      return function(x.handle, x.transa, x.transb, x.m, x.n, x.k, one<T>(x.alpha), as<T>(f.a), x.lda, kSize * kSize,
                      as<T>(f.b), x.ldb, 0, one<T>(x.beta), static_cast<T*>(x.c), x.ldc, kSize * kSize, x.batches);
    };
  };
  const auto ex = [&f](const Arguments& x) -> int {
    return cublasGemmEx(x.handle, x.transa, x.transb, x.m, x.n, x.k, one<float>(x.alpha), f.a, CUDA_R_16BF, x.lda, f.b,
                        CUDA_R_16BF, x.ldb, one<float>(x.beta), x.c, CUDA_R_16BF, x.ldc, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT);
  };
  const auto strided_ex = [&f](const Arguments& x) -> int {
    return cublasGemmStridedBatchedEx(x.handle, x.transa, x.transb, x.m, x.n, x.k, one<float>(x.alpha), f.a, CUDA_R_16F,
                                      x.lda, kSize * kSize, f.b, CUDA_R_16F, x.ldb, kSize * kSize, one<float>(x.beta),
                                      x.c, CUDA_R_32F, x.ldc, kSize * kSize, x.batches, CUBLAS_COMPUTE_32F,
                                      CUBLAS_GEMM_DEFAULT);
  };
  const auto batched = [&f](const Arguments& x) -> int {
    return cublasDgemmBatched(x.handle, x.transa, x.transb, x.m, x.n, x.k, one<double>(x.alpha), pointers(f.a), x.lda,
                              pointers(f.b), x.ldb, one<double>(x.beta), x.c ? pointers(f.c) : nullptr, x.ldc,
                              x.batches);
  };
  return {{"cublasSgemm", false, plain(cublasSgemm, 0.0f)},
          {"cublasDgemm", false, plain(cublasDgemm, 0.0)},
          {"cublasHgemm", false, plain(cublasHgemm, __half())},
          {"cublasGemmEx", false, ex},
          {"cublasSgemmStridedBatched", true, strided(cublasSgemmStridedBatched, 0.0f)},
          {"cublasGemmStridedBatchedEx", true, strided_ex},
          {"cublasDgemmBatched", true, batched}};
}

inline Rows gemm_rows(cublasHandle_t destroyed) {
  Rows rows;
  const cublasHandle_t handle = fixture().handle;
  for (const ProductUnderTest& p : products_under_test()) {
    const auto add = [&](const char* what, int expected, std::function<void(Arguments&)> change) {
      rows.push_back({std::string(p.name) + ": " + what, expected, [call = p.call, change, handle] {
                        Arguments x{handle};
                        change(x);
                        return call(x);
                      }});
    };
    constexpr int kInvalid = CUBLAS_STATUS_INVALID_VALUE, kNone = CUBLAS_STATUS_NOT_INITIALIZED;
    add("as it should be", 0, [](Arguments&) {});
    add("no handle", kNone, [](Arguments& x) { x.handle = nullptr; });
    add("a destroyed handle", kNone, [destroyed](Arguments& x) { x.handle = destroyed; });
    add("m = -1", kInvalid, [](Arguments& x) { x.m = -1; });
    add("n = -1", kInvalid, [](Arguments& x) { x.n = -1; });
    add("k = -1", kInvalid, [](Arguments& x) { x.k = -1; });
    add("lda too small", kInvalid, [](Arguments& x) { x.lda = kSize - 1; });
    add("ldb too small", kInvalid, [](Arguments& x) { x.ldb = kSize - 1; });
    add("ldc too small", kInvalid, [](Arguments& x) { x.ldc = kSize - 1; });
    add("lda of a transposed factor counts k", kInvalid, [](Arguments& x) {
      x.transa = CUBLAS_OP_T;
      x.m = 1;
      x.lda = kSize - 1;
    });
    add("no alpha", kInvalid, [](Arguments& x) { x.alpha = false; });
    add("no beta", kInvalid, [](Arguments& x) { x.beta = false; });
    add("no C", kInvalid, [](Arguments& x) { x.c = nullptr; });
    add("an operation that is none", kInvalid, [](Arguments& x) { x.transa = static_cast<cublasOperation_t>(7); });
    add("nothing to do", 0, [](Arguments& x) {
      x.m = 0;
      x.c = nullptr;
    });
    add("k = 0", 0, [](Arguments& x) { x.k = 0; });
    if (p.batched) {
      add("batches = -1", kInvalid, [](Arguments& x) { x.batches = -1; });
      add("batches = 0", 0, [](Arguments& x) { x.batches = 0; });
    }
  }
  const auto types = [handle](cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute) {
    return [=] {
      const double one = 1;
      auto& f = fixture();
      return static_cast<int>(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, &one, f.a, a, 16, f.b, b, 16,
                                           &one, f.c, c, 16, compute, CUBLAS_GEMM_DEFAULT));
    };
  };
  constexpr int kUnsupported = CUBLAS_STATUS_NOT_SUPPORTED;
  const auto f32 = CUBLAS_COMPUTE_32F;
  rows.push_back({"types: f16, f16 to f16", 0, types(CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, f32)});
  rows.push_back({"types: f16, f16 to f32", 0, types(CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, f32)});
  rows.push_back({"types: bf16, bf16 to bf16", 0, types(CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, f32)});
  rows.push_back({"types: bf16, bf16 to f32", 0, types(CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, f32)});
  rows.push_back({"types: int8 to int32", 0, types(CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I)});
  rows.push_back({"types: int8 to f32", 0, types(CUDA_R_8I, CUDA_R_8I, CUDA_R_32F, f32)});
  rows.push_back({"types: tf32", 0, types(CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32)});
  rows.push_back({"types: f64", 0, types(CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F)});
  rows.push_back({"types: f16 with bf16", kUnsupported, types(CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F, f32)});
  rows.push_back({"types: f16 to bf16", kUnsupported, types(CUDA_R_16F, CUDA_R_16F, CUDA_R_16BF, f32)});
  rows.push_back({"types: f64 computed in f32", kUnsupported, types(CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, f32)});
  rows.push_back(
      {"types: f16 computed in f64", kUnsupported, types(CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_64F)});
  rows.push_back({"types: complex", kUnsupported, types(CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, f32)});
  rows.push_back({"types: emulated f32", kUnsupported,
                  types(CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_EMULATED_16BFX9)});
  rows.push_back({"types: a compute type that is none", CUBLAS_STATUS_INVALID_VALUE,
                  types(CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, static_cast<cublasComputeType_t>(3))});
  return rows;
}
