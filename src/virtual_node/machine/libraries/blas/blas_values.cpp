#include "virtual_node/machine/libraries/blas/blas_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "common/wire/element_type.h"
#include "virtual_node/machine/libraries/blas/blas_elements.h"
#include "virtual_node/num/matrix/matrix_product.h"

namespace fb::machine {
namespace {

using wire::BlasEpilogue;
using wire::BlasKind;
using wire::BlasMath;

constexpr uint64_t kDepth = 256;  // values of k between loads and stores of sums

std::byte* element_at(const BlasView& v, uint64_t row, uint64_t column) {
  const int64_t index = static_cast<int64_t>(row) * v.row_stride + static_cast<int64_t>(column) * v.column_stride;
  return v.at + index * static_cast<int64_t>(size_of(v.type));
}

template <BlasMath kMath, class T>
T as_multiplied(T x) {
  if constexpr (kMath == BlasMath::tf32) return num::tf32_to_f32(num::f32_to_tf32(static_cast<float>(x)));
  if constexpr (kMath == BlasMath::f16) return num::f16_to_f32(num::f32_to_f16(static_cast<float>(x)));
  if constexpr (kMath == BlasMath::bf16) return num::bf16_to_f32(num::f32_to_bf16(static_cast<float>(x)));
  return x;
}

// Panels of `width` lines (rows of a, columns of b) for `depth` values of k; lines behind `lines` are zero.
struct Packing {
  uint64_t lines = 0, depth = 0, width = 0;
  int64_t line_stride = 0, depth_stride = 0;  // in bytes
};

template <class E, BlasMath kMath, class T>
void pack_as(const std::byte* from, const Packing& p, T* to) {
  for (uint64_t first = 0; first < p.lines; first += p.width, to += p.width * p.depth) {
    const uint64_t here = std::min(p.width, p.lines - first);
    for (uint64_t line = 0; line < here; ++line) {
      const std::byte* at = from + static_cast<int64_t>(first + line) * p.line_stride;
      for (uint64_t k = 0; k < p.depth; ++k, at += p.depth_stride)
        to[k * p.width + line] = as_multiplied<kMath>(static_cast<T>(read_element<E>(at)));
    }
    for (uint64_t line = here; line < p.width; ++line) {
      for (uint64_t k = 0; k < p.depth; ++k) to[k * p.width + line] = 0;
    }
  }
}

template <class T>
void pack(wire::ElementType type, BlasMath math, const std::byte* from, const Packing& p, T* to) {
  with_element(type, [&](auto e) {
    using E = decltype(e);
    switch (math) {
      case BlasMath::tf32:
        return pack_as<E, BlasMath::tf32>(from, p, to);
      case BlasMath::f16:
        return pack_as<E, BlasMath::f16>(from, p, to);
      case BlasMath::bf16:
        return pack_as<E, BlasMath::bf16>(from, p, to);
      default:
        return pack_as<E, BlasMath::f32>(from, p, to);
    }
  });
}

template <class T>
T activate(BlasEpilogue epilogue, T x) {
  if (epilogue == BlasEpilogue::relu) return x < 0 ? T{0} : x;
  if (epilogue == BlasEpilogue::gelu) {
    // The tanh form, as cuBLASLt has it.
    const T inner = static_cast<T>(std::sqrt(2 / std::numbers::pi)) * (x + T(0.044715) * x * x * x);
    return T(0.5) * x * (1 + std::tanh(inner));
  }
  return x;
}

struct Place {
  uint64_t row = 0, column = 0, rows = 0, columns = 0;
};

template <class T>
double finish_piece(const GemmValues& g, const Place& p, const T* sums, uint64_t stride) {
  const T alpha = static_cast<T>(g.alpha), beta = static_cast<T>(g.beta), scale = static_cast<T>(g.scale_d);
  T largest = 0;
  with_element(g.d.type, [&](auto out) {
    with_element(g.c ? g.c.type : g.d.type, [&](auto in) {
      for (uint64_t j = 0; j < p.columns; ++j) {
        for (uint64_t i = 0; i < p.rows; ++i) {
          const uint64_t row = p.row + i, column = p.column + j;
          T x = alpha * sums[i * stride + j];
          if (g.c) x += beta * static_cast<T>(read_element<decltype(in)>(element_at(g.c, row, column)));
          if (g.bias) x += static_cast<T>(read_number(g.bias.type, element_at(g.bias, row, column)));
          if (g.aux)
            with_element(g.aux.type, [&](auto e) { write_element<decltype(e)>(element_at(g.aux, row, column), x); });
          x = activate(g.epilogue, x);
          largest = std::max(largest, std::abs(x));
          write_element<decltype(out)>(element_at(g.d, row, column), x * scale);
        }
      }
    });
  });
  return static_cast<double>(largest);
}

template <class T>
double compute_piece(const GemmValues& g, const Place& p) {
  const auto& kernel = num::matrix::kernel<T>();
  const uint64_t high = (p.rows + kernel.rows - 1) / kernel.rows,
                 wide = (p.columns + kernel.columns - 1) / kernel.columns;
  const uint64_t stride = wide * kernel.columns;
  std::vector<T> sums(high * kernel.rows * stride);
  if (g.a && g.b) {
    const uint64_t most = std::min(kDepth, g.k);
    std::vector<T> a(high * kernel.rows * most), b(wide * kernel.columns * most);
    const auto size_a = static_cast<int64_t>(size_of(g.a.type)), size_b = static_cast<int64_t>(size_of(g.b.type));
    for (uint64_t k = 0; k < g.k; k += kDepth) {
      const uint64_t depth = std::min(kDepth, g.k - k);
      pack(g.a.type, g.math, element_at(g.a, p.row, k),
           {p.rows, depth, kernel.rows, g.a.row_stride * size_a, g.a.column_stride * size_a}, a.data());
      pack(g.b.type, g.math, element_at(g.b, k, p.column),
           {p.columns, depth, kernel.columns, g.b.column_stride * size_b, g.b.row_stride * size_b}, b.data());
      for (uint64_t j = 0; j < wide; ++j) {
        for (uint64_t i = 0; i < high; ++i)
          kernel.add(a.data() + i * kernel.rows * depth, b.data() + j * kernel.columns * depth, depth,
                     sums.data() + i * kernel.rows * stride + j * kernel.columns, stride);
      }
    }
  }
  return finish_piece(g, p, sums.data(), stride);
}

// Vectors and sums of matrices

template <class F>
void for_each(const VectorValues& v, F f) {
  for (uint64_t j = 0; j < v.n; ++j) {
    for (uint64_t i = 0; i < v.m; ++i) f(i, j);
  }
}

double modulus_at(const VectorValues& v, uint64_t i) { return std::abs(read_number(v.a.type, element_at(v.a, i, 0))); }

uint64_t index_of(const VectorValues& v, bool most) {
  uint64_t found = 0;
  double best = 0;
  for (uint64_t i = 0; i < v.m; ++i) {
    const double x = modulus_at(v, i);
    if (found != 0 && !(most ? x > best : x < best)) continue;
    best = x;
    found = i + 1;
  }
  return found;
}

double norm_of(const VectorValues& v) {
  double scale = 0;
  if (v.a.type == wire::ElementType::f64) {
    for (uint64_t i = 0; i < v.m; ++i) scale = std::max(scale, modulus_at(v, i));
  }
  if (scale == 0 || !std::isfinite(scale)) scale = 1;
  double sum = 0;
  for (uint64_t i = 0; i < v.m; ++i) {
    const double x = modulus_at(v, i) / scale;
    sum += x * x;
  }
  return scale * std::sqrt(sum);
}

double reduced(const VectorValues& v) {
  double sum = 0;
  switch (v.kind) {
    case BlasKind::dot:
      for (uint64_t i = 0; i < v.m; ++i)
        sum += read_number(v.a.type, element_at(v.a, i, 0)) * read_number(v.b.type, element_at(v.b, i, 0));
      return sum;
    case BlasKind::sum_of_moduli:
      for (uint64_t i = 0; i < v.m; ++i) sum += modulus_at(v, i);
      return sum;
    case BlasKind::norm:
      return norm_of(v);
    default:
      return static_cast<double>(index_of(v, v.kind == BlasKind::index_of_most));
  }
}

// In T: f32, or f64 where an operand is of that type.
template <class T>
void compute_elements(const VectorValues& v) {
  const T alpha = static_cast<T>(v.alpha), beta = static_cast<T>(v.beta);
  const auto read = [](const BlasView& view, uint64_t i, uint64_t j) {
    return static_cast<T>(read_number(view.type, element_at(view, i, j)));
  };
  with_element(v.d.type, [&](auto e) {
    for_each(v, [&](uint64_t i, uint64_t j) {
      T x = 0;
      switch (v.kind) {
        case BlasKind::matrix_sum:
          if (v.a) x = alpha * read(v.a, i, j);
          if (v.b) x += beta * read(v.b, i, j);
          break;
        case BlasKind::scale_vector:
          x = alpha * read(v.d, i, j);
          break;
        case BlasKind::add_scaled:
          x = std::fma(alpha, read(v.a, i, j), read(v.d, i, j));
          break;
        default:
          x = read(v.a, i, j);
          break;
      }
      write_element<decltype(e)>(element_at(v.d, i, j), x);
    });
  });
}

void swap_elements(const VectorValues& v) {
  const size_t size = size_of(v.d.type);
  for_each(v, [&](uint64_t i, uint64_t j) {
    std::swap_ranges(element_at(v.a, i, j), element_at(v.a, i, j) + size, element_at(v.d, i, j));
  });
}

}  // namespace

GemmPiece gemm_piece(uint64_t k) {
  constexpr uint64_t kDeep = uint64_t{1} << 15, kDeeper = uint64_t{1} << 22;
  if (k <= kDeep) return {1024, 512};
  return k <= kDeeper ? GemmPiece{64, 64} : GemmPiece{12, 32};
}

double compute_gemm(const GemmValues& g, uint64_t row, uint64_t column) {
  const GemmPiece piece = gemm_piece(g.k);
  const Place place{row, column, std::min(piece.rows, g.m - row), std::min(piece.columns, g.n - column)};
  const bool wide = g.math == BlasMath::f64 || g.math == BlasMath::i32;
  return wide ? compute_piece<double>(g, place) : compute_piece<float>(g, place);
}

void compute_vectors(const VectorValues& v) {
  switch (v.kind) {
    case BlasKind::dot:
    case BlasKind::norm:
    case BlasKind::sum_of_moduli:
    case BlasKind::index_of_most:
    case BlasKind::index_of_least:
      return with_element(v.d.type, [&](auto e) { write_element<decltype(e)>(v.d.at, reduced(v)); });
    case BlasKind::swap_vectors:
      return swap_elements(v);
    default:
      return v.d.type == wire::ElementType::f64 ? compute_elements<double>(v) : compute_elements<float>(v);
  }
}

}  // namespace fb::machine
