// cublasLt: descriptors, heuristics, products with epilogues.
#pragma once

#include <cmath>

#include "row.h"

// A handle of cuBLAS is one of cuBLASLt.
inline cublasLtHandle_t lt_handle() { return reinterpret_cast<cublasLtHandle_t>(fixture().handle); }

// A product of 16 x 16 matrices in f32, unless a row changes it.
struct LtProduct {
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  float alpha = 1, beta = 0;
  const cublasLtMatmulAlgo_t* algo = nullptr;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;

  LtProduct(cudaDataType type = CUDA_R_32F, cudaDataType out = CUDA_R_32F,
            cublasComputeType_t compute = CUBLAS_COMPUTE_32F, cudaDataType scale = CUDA_R_32F) {
    cublasLtMatmulDescCreate(&desc, compute, scale);
    cublasLtMatrixLayoutCreate(&a, type, 16, 16, 16);
    cublasLtMatrixLayoutCreate(&b, type, 16, 16, 16);
    cublasLtMatrixLayoutCreate(&c, out, 16, 16, 16);
  }
  ~LtProduct() {
    cublasLtMatmulDescDestroy(desc);
    for (auto* l : {a, b, c}) cublasLtMatrixLayoutDestroy(l);
  }
  template <class T>
  LtProduct& set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof value);
    return *this;
  }
  template <class T>
  LtProduct& set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const T& value) {
    cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value);
    return *this;
  }
  int run() {
    auto& f = fixture();
    return cublasLtMatmul(lt_handle(), desc, &alpha, f.a, a, f.b, b, &beta, f.c, c, f.c, c, algo, workspace,
                          workspace_bytes, f.stream);
  }
};

inline std::vector<float> unit(float diagonal = 1) {
  std::vector<float> m(256);
  for (int i = 0; i < 16; ++i) m[i * 17] = diagonal;
  return m;
}
inline std::vector<float> numbers() {
  std::vector<float> m(256);
  for (int i = 0; i < 256; ++i) m[i] = static_cast<float>(i % 23 - 11);
  return m;
}
inline std::vector<float> transposed(const std::vector<float>& m) {
  std::vector<float> t(256);
  for (int i = 0; i < 256; ++i) t[i % 16 * 16 + i / 16] = m[i];
  return t;
}

inline Rows lt_rows() {
  constexpr int kInvalid = CUBLAS_STATUS_INVALID_VALUE, kUnsupported = CUBLAS_STATUS_NOT_SUPPORTED;
  const auto prepare = [] {
    put(fixture().a, numbers());
    put(fixture().b, unit());
  };
  return {
      {"cublasLtMatmul: by one", 0,
       [=] {
         prepare();
         const int s = LtProduct().run();
         return s != 0 ? s : compare(fixture().c, numbers());
       }},
      {"cublasLtMatmul: A in rows", 0,
       [=] {
         prepare();
         LtProduct p;
         p.set(p.a, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_ROW);
         const int s = p.run();
         return s != 0 ? s : compare(fixture().c, transposed(numbers()));
       }},
      {"cublasLtMatmul: A in rows and transposed", 0,
       [=] {
         prepare();
         LtProduct p;
         p.set(p.a, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_ROW).set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
         const int s = p.run();
         return s != 0 ? s : compare(fixture().c, numbers());
       }},
      {"cublasLtMatmul: bias and relu", 0,
       [=] {
         prepare();
         std::vector<float> bias(16);
         for (int i = 0; i < 16; ++i) bias[i] = static_cast<float>(i);
         put(fixture().c + 512, bias);
         LtProduct p;
         p.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU_BIAS)
             .set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, fixture().c + 512);
         if (const int s = p.run(); s != 0) return s;
         auto expected = numbers();
         for (int i = 0; i < 256; ++i) expected[i] = std::fmax(expected[i] + bias[i % 16], 0.0f);
         return compare(fixture().c, expected);
       }},
      {"cublasLtMatmul: gelu", 0,
       [=] {
         prepare();
         LtProduct p;
         p.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_GELU);
         if (const int s = p.run(); s != 0) return s;
         const auto got = take<float>(fixture().c, 256);
         const auto x = numbers();
         for (int i = 0; i < 256; ++i) {
           const double exact =
               0.5 * x[i] * (1 + std::tanh(std::sqrt(2 / M_PI) * (x[i] + 0.044715 * x[i] * x[i] * x[i])));
           if (std::abs(got[i] - exact) > 1e-5) return kWrongValue;
         }
         return 0;
       }},
      {"cublasLtMatmul: gelu keeps its input", 0,
       [=] {
         prepare();
         LtProduct p;
         p.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_GELU_AUX)
             .set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, fixture().c + 1024)
             .set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t{16});
         if (const int s = p.run(); s != 0) return s;
         return compare(fixture().c + 1024, numbers());
       }},
      {"cublasLtMatmul: fp8 with scales", 0,
       [] {
         std::vector<__nv_fp8_e4m3> a(256), b(256);
         for (int i = 0; i < 256; ++i)
           a[i] = __nv_fp8_e4m3(float(i % 7)), b[i] = __nv_fp8_e4m3(i % 17 == 0 ? 1.0f : 0.0f);
         put(fixture().a, a);
         put(fixture().b, b);
         put(fixture().c + 512, std::vector<float>{2, 0.25f});
         LtProduct p(CUDA_R_8F_E4M3, CUDA_R_32F);
         p.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T)
             .set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, as<float>(fixture().c + 512))
             .set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, as<float>(fixture().c + 512) + 1);
         if (const int s = p.run(); s != 0) return s;
         std::vector<float> expected(256);
         for (int i = 0; i < 256; ++i) expected[i % 16 * 16 + i / 16] = 0.5f * float(i % 7);
         return compare(fixture().c, expected);
       }},
      {"cublasLtMatmul: fp8 not transposed", kUnsupported, [] { return LtProduct(CUDA_R_8F_E4M3, CUDA_R_32F).run(); }},
      {"cublasLtMatmul: both factors e5m2", kUnsupported,
       [] { return LtProduct(CUDA_R_8F_E5M2, CUDA_R_32F).set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T).run(); }},
      {"cublasLtMatmul: scales without fp8", kUnsupported,
       [] { return LtProduct().set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, fixture().c).run(); }},
      {"cublasLtMatmul: no handle", CUBLAS_STATUS_NOT_INITIALIZED,
       [] {
         LtProduct p;
         auto& f = fixture();
         return static_cast<int>(cublasLtMatmul(nullptr, p.desc, &p.alpha, f.a, p.a, f.b, p.b, &p.beta, f.c, p.c, f.c,
                                                p.c, nullptr, nullptr, 0, f.stream));
       }},
      {"cublasLtMatmul: no descriptor", kInvalid,
       [] {
         LtProduct p;
         auto& f = fixture();
         return static_cast<int>(cublasLtMatmul(lt_handle(), nullptr, &p.alpha, f.a, p.a, f.b, p.b, &p.beta, f.c, p.c,
                                                f.c, p.c, nullptr, nullptr, 0, f.stream));
       }},
      {"cublasLtMatmul: no layout", kInvalid,
       [] {
         LtProduct p;
         auto& f = fixture();
         return static_cast<int>(cublasLtMatmul(lt_handle(), p.desc, &p.alpha, f.a, nullptr, f.b, p.b, &p.beta, f.c,
                                                p.c, f.c, p.c, nullptr, nullptr, 0, f.stream));
       }},
      {"cublasLtMatmul: sizes that do not fit", kInvalid,
       [] {
         LtProduct p;
         return p.set(p.b, CUBLASLT_MATRIX_LAYOUT_ROWS, uint64_t{8}).run();
       }},
      {"cublasLtMatmul: leading dimension too small", kInvalid,
       [] {
         LtProduct p;
         return p.set(p.a, CUBLASLT_MATRIX_LAYOUT_LD, int64_t{15}).run();
       }},
      {"cublasLtMatmul: batches differ", kInvalid,
       [] {
         LtProduct p;
         return p.set(p.a, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 2).run();
       }},
      {"cublasLtMatmul: order COL32", kUnsupported,
       [] {
         LtProduct p;
         return p.set(p.a, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_COL32).run();
       }},
      {"cublasLtMatmul: bias without a pointer", kInvalid,
       [] { return LtProduct().set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS).run(); }},
      {"cublasLtMatmul: a gradient's epilogue", kUnsupported,
       [] { return LtProduct().set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DGELU).run(); }},
      {"cublasLtMatmul: C transposed", kUnsupported,
       [] { return LtProduct().set(CUBLASLT_MATMUL_DESC_TRANSC, CUBLAS_OP_T).run(); }},
      {"cublasLtMatmul: types that do not go together", kUnsupported,
       [] { return LtProduct(CUDA_R_16F, CUDA_R_16BF).run(); }},
      {"cublasLtMatmul: the wrong scale type", kUnsupported,
       [] { return LtProduct(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_16F).run(); }},
      {"cublasLtMatmul: a workspace that is nowhere", kInvalid,
       [] {
         LtProduct p;
         p.workspace_bytes = 1024;
         return p.run();
       }},
      {"cublasLtMatmul: an algorithm that is none", kInvalid,
       [] {
         LtProduct p;
         cublasLtMatmulAlgo_t algo = {};
         p.algo = &algo;
         return p.run();
       }},
      {"cublasLtMatmulAlgoGetHeuristic and its algorithm", 0,
       [=] {
         prepare();
         LtProduct p;
         cublasLtMatmulPreference_t pref = nullptr;
         cublasLtMatmulPreferenceCreate(&pref);
         cublasLtMatmulHeuristicResult_t result = {};
         int found = 0;
         const int s =
             cublasLtMatmulAlgoGetHeuristic(lt_handle(), p.desc, p.a, p.b, p.c, p.c, pref, 1, &result, &found);
         cublasLtMatmulPreferenceDestroy(pref);
         if (s != 0 || found != 1) return kWrongValue;
         p.algo = &result.algo;
         const int r = p.run();
         return r != 0 ? r : compare(fixture().c, numbers());
       }},
      {"cublasLtMatmulAlgoGetHeuristic: nothing fits", kUnsupported,
       [] {
         LtProduct p(CUDA_R_64F, CUDA_R_32F);
         cublasLtMatmulPreference_t pref = nullptr;
         cublasLtMatmulPreferenceCreate(&pref);
         cublasLtMatmulHeuristicResult_t result = {};
         int found = 7;
         const int s =
             cublasLtMatmulAlgoGetHeuristic(lt_handle(), p.desc, p.a, p.b, p.c, p.c, pref, 1, &result, &found);
         cublasLtMatmulPreferenceDestroy(pref);
         return found == 0 ? s : kWrongValue;
       }},
      {"cublasLtMatmulAlgoGetHeuristic: no preference", kInvalid,
       [] {
         LtProduct p;
         cublasLtMatmulHeuristicResult_t result = {};
         int found = 0;
         return static_cast<int>(
             cublasLtMatmulAlgoGetHeuristic(lt_handle(), p.desc, p.a, p.b, p.c, p.c, nullptr, 1, &result, &found));
       }},
      {"cublasLtMatmulDescSetAttribute: an attribute that is none", kInvalid,
       [] {
         LtProduct p;
         const int x = 0;
         return static_cast<int>(
             cublasLtMatmulDescSetAttribute(p.desc, static_cast<cublasLtMatmulDescAttributes_t>(99), &x, sizeof x));
       }},
      {"cublasLtMatmulDescSetAttribute: too few bytes", kInvalid,
       [] {
         LtProduct p;
         const char x = 0;
         return static_cast<int>(cublasLtMatmulDescSetAttribute(p.desc, CUBLASLT_MATMUL_DESC_TRANSA, &x, sizeof x));
       }},
      {"cublasLtMatmulDescGetAttribute: what was set", 0,
       [] {
         LtProduct p;
         p.set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_T);
         int32_t got = 0;
         size_t bytes = 0;
         cublasLtMatmulDescGetAttribute(p.desc, CUBLASLT_MATMUL_DESC_TRANSB, &got, sizeof got, &bytes);
         return got == CUBLAS_OP_T && bytes == 4 ? 0 : kWrongValue;
       }},
      {"cublasLtMatmulDescCreate: a compute type that is none", kInvalid,
       [] {
         cublasLtMatmulDesc_t desc = nullptr;
         return static_cast<int>(cublasLtMatmulDescCreate(&desc, static_cast<cublasComputeType_t>(5), CUDA_R_32F));
       }},
      {"cublasLtMatrixTransform: from columns to rows", 0,
       [=] {
         prepare();
         LtProduct p;
         cublasLtMatrixTransformDesc_t desc = nullptr;
         cublasLtMatrixTransformDescCreate(&desc, CUDA_R_32F);
         p.set(p.c, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_ROW);
         auto& f = fixture();
         const int s = cublasLtMatrixTransform(lt_handle(), desc, &p.alpha, f.a, p.a, &p.beta, nullptr, nullptr, f.c,
                                               p.c, f.stream);
         cublasLtMatrixTransformDescDestroy(desc);
         return s != 0 ? s : compare(f.c, transposed(numbers()));
       }},
  };
}
