// Fragments: the part of a matrix that a thread holds; loading, storing and filling them.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "fabricbench/matrix/places.h"

namespace nvcuda {
namespace wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}  // namespace precision

}  // namespace wmma
}  // namespace nvcuda

namespace fabricbench {
namespace matrix {

// The form of mma.sync for an element type, and what a fragment stores of it.
template <class T>
struct Kind;
template <>
struct Kind<__half> : Of16Bits {
  using Stored = __half;
};
template <>
struct Kind<__nv_bfloat16> : Of16Bits {
  using Stored = __nv_bfloat16;
};
template <>
struct Kind<signed char> : OfBytes {
  using Stored = signed char;
};
template <>
struct Kind<unsigned char> : OfBytes {
  using Stored = unsigned char;
};
template <>
struct Kind<nvcuda::wmma::precision::tf32> : OfTf32 {
  using Stored = float;
};
template <>
struct Kind<double> : OfDoubles {
  using Stored = double;
};

// The instruction has 16 rows. Where the matrix has 8, it multiplies the transposes, with A and B exchanged.
template <int M, int N, int K>
struct Shape {
  static constexpr bool kKnown =
      K == 16 ? (M == 16 && N == 16) || (M == 32 && N == 8) || (M == 8 && N == 32)
              : (K == 8 && M == 16 && N == 16) || ((K == 4 || K == 32 || K == 128) && M == 8 && N == 8);
  static constexpr bool kTransposed = M == 8 && N == 32;
  static constexpr int kRows = kTransposed ? N : M, kColumns = kTransposed ? M : N;
};

// Where sums are: instructions of 8 × 8 have them as that of doubles.
template <class Shape>
struct FormOfSum : Of16Bits {};
template <int K>
struct FormOfSum<Shape<8, 8, K>> : OfDoubles {};

// Tiles of mma.sync's operands in a fragment.
template <class Use, class Form, class Shape>
struct Extent;
template <class Form, class Shape>
struct Extent<nvcuda::wmma::matrix_a, Form, Shape> {
  static constexpr bool kFirst = !Shape::kTransposed;  // whether it is the instruction's A
  static constexpr int kTiles = kFirst ? Shape::kRows / Form::kRows : Shape::kColumns / Form::kColumns;
  static constexpr int kEach = kFirst ? Form::kOfA : Form::kOfB;
};
template <class Form, class Shape>
struct Extent<nvcuda::wmma::matrix_b, Form, Shape> {
  static constexpr bool kFirst = Shape::kTransposed;
  static constexpr int kTiles = kFirst ? Shape::kRows / Form::kRows : Shape::kColumns / Form::kColumns;
  static constexpr int kEach = kFirst ? Form::kOfA : Form::kOfB;
};
// Where element `index` of a fragment of A or B is in its matrix.
template <class Use, class Form, class Shape>
FABRICBENCH_DEVICE Place place_of(int index) {
  using E = Extent<Use, Form, Shape>;
  const int tile = index / E::kEach;
  Place p = E::kFirst ? Form::a(index % E::kEach) : Form::b(index % E::kEach);
  (E::kFirst ? p.row : p.column) += tile * (E::kFirst ? Form::kRows : Form::kColumns);
  return Shape::kTransposed ? Place{p.column, p.row} : p;
}
template <class Form, class Shape>
FABRICBENCH_DEVICE Place place_of_sum(int index) {
  const int tile = index / Form::kOfC, across = Shape::kColumns / Form::kColumns;
  Place p = Form::c(index % Form::kOfC);
  p.row += tile / across * Form::kRows;
  p.column += tile % across * Form::kColumns;
  return Shape::kTransposed ? Place{p.column, p.row} : p;
}

}  // namespace matrix
}  // namespace fabricbench

namespace nvcuda {
namespace wmma {

template <class Use, int M, int N, int K, class T, class Layout = void>
class fragment {
  static_assert(fabricbench::matrix::Shape<M, N, K>::kKnown, "wmma has no such shape");
  using Extent = fabricbench::matrix::Extent<Use, fabricbench::matrix::Kind<T>, fabricbench::matrix::Shape<M, N, K>>;

 public:
  using element_type = T;
  using storage_element_type = typename fabricbench::matrix::Kind<T>::Stored;
  static constexpr int num_elements = Extent::kTiles * Extent::kEach;
  static constexpr int num_storage_elements = num_elements;
  storage_element_type x[num_elements];
};
template <int M, int N, int K, class T>
class fragment<accumulator, M, N, K, T, void> {
  static_assert(fabricbench::matrix::Shape<M, N, K>::kKnown, "wmma has no such shape");

 public:
  using element_type = T;
  using storage_element_type = T;
  static constexpr int num_elements = M * N / 32;
  static constexpr int num_storage_elements = num_elements;
  T x[num_elements];
};

template <class Use, int M, int N, int K, class T, class Layout, class Value>
FABRICBENCH_DEVICE void fill_fragment(fragment<Use, M, N, K, T, Layout>& f, const Value& value) {
#pragma unroll
  for (int i = 0; i < f.num_elements; ++i) {
    f.x[i] = static_cast<typename fragment<Use, M, N, K, T, Layout>::storage_element_type>(value);
  }
}
FABRICBENCH_DEVICE float __float_to_tf32(float x) {
  unsigned int rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
  return __uint_as_float(rounded);
}

namespace detail {

template <class Layout>
struct IsRowMajor {
  static constexpr bool kValue = true;
};
template <>
struct IsRowMajor<col_major> {
  static constexpr bool kValue = false;
};
FABRICBENCH_DEVICE unsigned int offset(fabricbench::matrix::Place p, unsigned int stride, bool row_major) {
  return row_major ? p.row * stride + p.column : p.column * stride + p.row;
}

}  // namespace detail

template <class Use, int M, int N, int K, class T, class Layout, class Stored>
FABRICBENCH_DEVICE void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& f, const Stored* from, unsigned int stride) {
  using namespace fabricbench::matrix;
  __syncwarp();
#pragma unroll
  for (int i = 0; i < f.num_elements; ++i) {
    f.x[i] = from[detail::offset(place_of<Use, Kind<T>, Shape<M, N, K>>(i), stride,
                                             detail::IsRowMajor<Layout>::kValue)];
  }
}
template <int M, int N, int K, class T>
FABRICBENCH_DEVICE void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const T* from, unsigned int stride,
                                         layout_t layout) {
  using namespace fabricbench::matrix;
  __syncwarp();
#pragma unroll
  for (int i = 0; i < f.num_elements; ++i) {
    f.x[i] = from[detail::offset(place_of_sum<FormOfSum<Shape<M, N, K>>, Shape<M, N, K>>(i), stride,
                                             layout == mem_row_major)];
  }
}
template <int M, int N, int K, class T>
FABRICBENCH_DEVICE void store_matrix_sync(T* to, const fragment<accumulator, M, N, K, T>& f, unsigned int stride,
                                          layout_t layout) {
  using namespace fabricbench::matrix;
#pragma unroll
  for (int i = 0; i < f.num_elements; ++i) {
    to[detail::offset(place_of_sum<FormOfSum<Shape<M, N, K>>, Shape<M, N, K>>(i), stride,
                                  layout == mem_row_major)] = f.x[i];
  }
  __syncwarp();
}

}  // namespace wmma
}  // namespace nvcuda
