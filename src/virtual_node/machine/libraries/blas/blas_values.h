#pragma once

// Results of operations of cuBLAS, in a stated order of additions, the same on every processor.
//
// gemm: inputs are widened to f32 (f64 stays, integers become f64, which is exact), rounded to tf32, f16 or bf16 where
// the call's compute type says so, and each element is one sum in order of k
// (virtual_node/num/matrix/matrix_product.h). Then, in the type of the sum and each rounded: alpha · scales · sum, +
// beta · scale · c, + bias, the activation, · scale of d; rounded once to the type of d. fp8 and int8 saturate.
//
// Vectors: alpha x + y is fused. Sums of dot, norm and sum_of_moduli are in f64, in order, and rounded once; norms of
// f64 are scaled by the largest modulus.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/wire/messages.h"

namespace fb::machine {

// The first element, and how far elements are apart.
struct BlasView {
  std::byte* at = nullptr;
  int64_t row_stride = 0, column_stride = 0;
  wire::ElementType type{};
  explicit operator bool() const { return at != nullptr; }
};

// One product of a batch; what the call reads by pointers has been read.
struct GemmValues {
  wire::BlasMath math{};
  wire::BlasEpilogue epilogue{};
  uint64_t m = 0, n = 0, k = 0;
  BlasView a, b, c, d, bias, aux;  // a, b null: alpha is 0; c null: beta is 0
  double alpha = 1, beta = 0;      // with the scales of factors and of c
  double scale_d = 1;
};
// Rows and columns of d that are computed at once: fewer of deep products, so that a piece takes a second at most.
struct GemmPiece {
  uint64_t rows = 0, columns = 0;
};
GemmPiece gemm_piece(uint64_t k);

// A piece of d from (row, column). Returns the largest modulus before scale_d.
double compute_gemm(const GemmValues& values, uint64_t row, uint64_t column);

// Everything else.
struct VectorValues {
  wire::BlasKind kind{};
  uint64_t m = 0, n = 1;
  BlasView a, b, d;
  double alpha = 1, beta = 0;
};
void compute_vectors(const VectorValues& values);

}  // namespace fb::machine
