#pragma once

// What cublasLt's opaque structs hold. Programs may keep them on their stacks, so they own nothing.

#include <cublasLt.h>

#include <cstdint>

namespace fb::shim::cublas {

struct Layout {
  uint32_t type = 0;
  uint32_t order = CUBLASLT_ORDER_COL;
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0;
  int32_t batches = 1;
  uint32_t batch_mode = CUBLASLT_BATCH_MODE_STRIDED;
  int64_t batch_stride = 0, plane = 0;
};

struct MatmulDesc {
  int32_t compute = 0, scale_type = 0, pointer_mode = 0, transa = 0, transb = 0, transc = 0;
  int32_t fill_mode = CUBLAS_FILL_MODE_FULL;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  int64_t bias_stride = 0;
  void* aux = nullptr;
  int64_t aux_ld = 0, aux_stride = 0, alpha_stride = 0;
  int32_t sm_count = 0;
  int32_t aux_type = -1, bias_type = -1;  // -1: that of D
  int8_t fast_accumulation = 0;
  void *scale_a = nullptr, *scale_b = nullptr, *scale_c = nullptr, *scale_d = nullptr, *largest = nullptr;
  void *scale_aux = nullptr, *largest_aux = nullptr, *scale_out = nullptr, *emulation = nullptr;
  int32_t mode_a = 0, mode_b = 0, mode_c = 0, mode_d = 0, mode_aux = 0, mode_out = 0;
};

struct Preference {
  uint32_t search = CUBLASLT_SEARCH_BEST_FIT;
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint64_t workspace = 0;
  uint32_t align_a = 256, align_b = 256, align_c = 256, align_d = 256;
  float most_waves = 0;
  uint32_t zero = 0;
  uint64_t implementations = ~uint64_t{0};
};

struct TransformDesc {
  int32_t scale_type = 0, pointer_mode = 0, transa = 0, transb = 0;
};

// Null: none of ours.
const Layout* layout_of(cublasLtMatrixLayout_t layout);
const MatmulDesc* desc_of(cublasLtMatmulDesc_t desc);
const Preference* preference_of(cublasLtMatmulPreference_t preference);
const TransformDesc* transform_of(cublasLtMatrixTransformDesc_t desc);

}  // namespace fb::shim::cublas
