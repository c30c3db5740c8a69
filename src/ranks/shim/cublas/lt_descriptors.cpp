#include "ranks/shim/cublas/lt_descriptors.h"

#include <cstddef>
#include <cstring>
#include <new>
#include <span>

#include "ranks/shim/cublas/export.h"

namespace fb::shim::cublas {
namespace {

// An attribute is a member.
struct Attribute {
  int number;
  size_t offset, size;
};
#define FB_ATTRIBUTE(number, Struct, member) {number, offsetof(Struct, member), sizeof(Struct::member)}

constexpr Attribute kLayout[] = {
    FB_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_TYPE, Layout, type),
    FB_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ORDER, Layout, order),
    FB_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ROWS, Layout, rows),
    FB_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_COLS, Layout, columns),
    FB_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_LD, Layout, ld),
    FB_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, Layout, batches),
    FB_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, Layout, batch_stride),
    FB_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, Layout, plane),
    FB_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, Layout, batch_mode),
};
constexpr Attribute kDesc[] = {
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, MatmulDesc, compute),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_SCALE_TYPE, MatmulDesc, scale_type),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_POINTER_MODE, MatmulDesc, pointer_mode),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSA, MatmulDesc, transa),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSB, MatmulDesc, transb),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSC, MatmulDesc, transc),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_FILL_MODE, MatmulDesc, fill_mode),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE, MatmulDesc, epilogue),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_POINTER, MatmulDesc, bias),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, MatmulDesc, bias_stride),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, MatmulDesc, aux),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, MatmulDesc, aux_ld),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, MatmulDesc, aux_stride),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, MatmulDesc, alpha_stride),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, MatmulDesc, sm_count),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, MatmulDesc, scale_a),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, MatmulDesc, scale_b),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, MatmulDesc, scale_c),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, MatmulDesc, scale_d),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, MatmulDesc, largest),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, MatmulDesc, aux_type),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, MatmulDesc, scale_aux),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, MatmulDesc, largest_aux),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_FAST_ACCUM, MatmulDesc, fast_accumulation),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, MatmulDesc, bias_type),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, MatmulDesc, mode_a),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, MatmulDesc, mode_b),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_C_SCALE_MODE, MatmulDesc, mode_c),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_SCALE_MODE, MatmulDesc, mode_d),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, MatmulDesc, mode_aux),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, MatmulDesc, scale_out),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, MatmulDesc, mode_out),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, MatmulDesc, emulation),
};
constexpr Attribute kPreference[] = {
    FB_ATTRIBUTE(CUBLASLT_MATMUL_PREF_SEARCH_MODE, Preference, search),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, Preference, workspace),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, Preference, reductions),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, Preference, align_a),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, Preference, align_b),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, Preference, align_c),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, Preference, align_d),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, Preference, most_waves),
    FB_ATTRIBUTE(CUBLASLT_MATMUL_PREF_IMPL_MASK, Preference, implementations),
};
constexpr Attribute kTransform[] = {
    FB_ATTRIBUTE(CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE, TransformDesc, scale_type),
    FB_ATTRIBUTE(CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE, TransformDesc, pointer_mode),
    FB_ATTRIBUTE(CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, TransformDesc, transa),
    FB_ATTRIBUTE(CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, TransformDesc, transb),
};

const Attribute* find(std::span<const Attribute> table, int number) {
  for (const Attribute& a : table) {
    if (a.number == number) return &a;
  }
  return nullptr;
}

cublasStatus_t set(void* held, std::span<const Attribute> table, int number, const void* from, size_t size) {
  const Attribute* a = find(table, number);
  if (!held || !a || !from || size < a->size) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(static_cast<std::byte*>(held) + a->offset, from, a->size);
  return CUBLAS_STATUS_SUCCESS;
}

// A size of 0 asks for the size.
cublasStatus_t get(const void* held, std::span<const Attribute> table, int number, void* to, size_t size,
                   size_t* written) {
  const Attribute* a = find(table, number);
  if (!held || !a || (size == 0 ? !written : !to || size < a->size)) return CUBLAS_STATUS_INVALID_VALUE;
  if (size != 0) std::memcpy(to, static_cast<const std::byte*>(held) + a->offset, a->size);
  if (written) *written = a->size;
  return CUBLAS_STATUS_SUCCESS;
}

template <class Held, class Opaque>
Held* held_in(Opaque* opaque) {
  static_assert(sizeof(Held) <= sizeof(Opaque) && alignof(Held) <= alignof(Opaque));
  return reinterpret_cast<Held*>(opaque);
}

template <class Held, class Opaque>
cublasStatus_t init(Opaque* opaque, size_t size, const Held& value) {
  if (!opaque || size < sizeof(Opaque)) return CUBLAS_STATUS_INVALID_VALUE;
  new (opaque) Held(value);
  return CUBLAS_STATUS_SUCCESS;
}

template <class Held, class Opaque>
cublasStatus_t create(Opaque** into, const Held& value) {
  if (!into) return CUBLAS_STATUS_INVALID_VALUE;
  *into = new Opaque{};
  return init(*into, sizeof(Opaque), value);
}

Layout new_layout(cudaDataType type, uint64_t rows, uint64_t columns, int64_t ld) {
  Layout l;
  l.type = type;
  l.rows = rows;
  l.columns = columns;
  l.ld = ld;
  return l;
}
MatmulDesc new_desc(cublasComputeType_t compute, cudaDataType scale) {
  MatmulDesc d;
  d.compute = compute;
  d.scale_type = scale;
  return d;
}
bool is_compute_type(int type) {
  return type >= CUBLAS_COMPUTE_16F && type <= CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT && type != 66 && type != 67 &&
         type != 76;
}

}  // namespace

const Layout* layout_of(cublasLtMatrixLayout_t layout) { return held_in<Layout>(layout); }
const MatmulDesc* desc_of(cublasLtMatmulDesc_t desc) { return held_in<MatmulDesc>(desc); }
const Preference* preference_of(cublasLtMatmulPreference_t p) { return held_in<Preference>(p); }
const TransformDesc* transform_of(cublasLtMatrixTransformDesc_t desc) { return held_in<TransformDesc>(desc); }

}  // namespace fb::shim::cublas

using namespace fb::shim::cublas;

FB_API cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t size, cudaDataType type,
                                                        uint64_t rows, uint64_t cols, int64_t ld) {
  return init(layout, size, new_layout(type, rows, cols, ld));
}
FB_API cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                                 uint64_t cols, int64_t ld) {
  return create(layout, new_layout(type, rows, cols, ld));
}
FB_API cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
FB_API cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                       cublasLtMatrixLayoutAttribute_t attr, const void* buf,
                                                       size_t size) {
  return set(layout, kLayout, attr, buf, size);
}
FB_API cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                       cublasLtMatrixLayoutAttribute_t attr, void* buf, size_t size,
                                                       size_t* written) {
  return get(layout, kLayout, attr, buf, size, written);
}

FB_API cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t desc, size_t size,
                                                      cublasComputeType_t compute, cudaDataType scale) {
  if (!is_compute_type(compute)) return CUBLAS_STATUS_INVALID_VALUE;
  return init(desc, size, new_desc(compute, scale));
}
FB_API cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                               cudaDataType scale) {
  if (!is_compute_type(compute)) return CUBLAS_STATUS_INVALID_VALUE;
  return create(desc, new_desc(compute, scale));
}
FB_API cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete desc;
  return CUBLAS_STATUS_SUCCESS;
}
FB_API cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attr,
                                                     const void* buf, size_t size) {
  return set(desc, kDesc, attr, buf, size);
}
FB_API cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attr,
                                                     void* buf, size_t size, size_t* written) {
  return get(desc, kDesc, attr, buf, size, written);
}

FB_API cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t pref, size_t size) {
  return init(pref, size, Preference{});
}
FB_API cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* pref) {
  return create(pref, Preference{});
}
FB_API cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t pref) {
  delete pref;
  return CUBLAS_STATUS_SUCCESS;
}
FB_API cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t pref,
                                                           cublasLtMatmulPreferenceAttributes_t attr, const void* buf,
                                                           size_t size) {
  return set(pref, kPreference, attr, buf, size);
}
FB_API cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t pref,
                                                           cublasLtMatmulPreferenceAttributes_t attr, void* buf,
                                                           size_t size, size_t* written) {
  return get(pref, kPreference, attr, buf, size, written);
}

FB_API cublasStatus_t cublasLtMatrixTransformDescInit_internal(cublasLtMatrixTransformDesc_t desc, size_t size,
                                                               cudaDataType scale) {
  return init(desc, size, TransformDesc{scale, 0, 0, 0});
}
FB_API cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t* desc, cudaDataType scale) {
  return create(desc, TransformDesc{scale, 0, 0, 0});
}
FB_API cublasStatus_t cublasLtMatrixTransformDescDestroy(cublasLtMatrixTransformDesc_t desc) {
  delete desc;
  return CUBLAS_STATUS_SUCCESS;
}
FB_API cublasStatus_t cublasLtMatrixTransformDescSetAttribute(cublasLtMatrixTransformDesc_t desc,
                                                              cublasLtMatrixTransformDescAttributes_t attr,
                                                              const void* buf, size_t size) {
  return set(desc, kTransform, attr, buf, size);
}
FB_API cublasStatus_t cublasLtMatrixTransformDescGetAttribute(cublasLtMatrixTransformDesc_t desc,
                                                              cublasLtMatrixTransformDescAttributes_t attr, void* buf,
                                                              size_t size, size_t* written) {
  return get(desc, kTransform, attr, buf, size, written);
}
