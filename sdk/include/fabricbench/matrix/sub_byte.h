// Fragments of 4-bit integers (8 × 8 × 32) and of bits (8 × 8 × 128): A by rows, B by columns, one word a thread.
#pragma once
#include "fabricbench/matrix/fragment.h"

namespace nvcuda {
namespace wmma {
namespace experimental {

namespace precision {
struct u4 {};
struct s4 {};
struct b1 {};
}  // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };

}  // namespace experimental

namespace detail {

template <class T>
struct SubByte;
template <>
struct SubByte<experimental::precision::u4> {
  using Stored = unsigned int;
  static constexpr int kBits = 4;
};
template <>
struct SubByte<experimental::precision::s4> {
  using Stored = int;
  static constexpr int kBits = 4;
};
template <>
struct SubByte<experimental::precision::b1> {
  using Stored = unsigned int;
  static constexpr int kBits = 1;
};

template <class T>
struct SubByteFragment {
  using element_type = T;
  using storage_element_type = typename SubByte<T>::Stored;
  static constexpr int num_elements = 32 / SubByte<T>::kBits;
  static constexpr int num_storage_elements = 1;
  storage_element_type x[1];
};

// Lane 4g + p has word p of line g; lines are `stride` elements apart.
template <class T>
FABRICBENCH_DEVICE void load_word(SubByteFragment<T>& f, const void* from, unsigned int stride) {
  using fabricbench::matrix::group_of_lane;
  using fabricbench::matrix::place_in_group;
  __syncwarp();
  const auto* words = static_cast<const typename SubByte<T>::Stored*>(from);
  f.x[0] = words[group_of_lane() * stride * SubByte<T>::kBits / 32 + place_in_group()];
}

}  // namespace detail

template <class T>
class fragment<matrix_a, 8, 8, 32, T, row_major> : public detail::SubByteFragment<T> {};
template <class T>
class fragment<matrix_b, 8, 8, 32, T, col_major> : public detail::SubByteFragment<T> {};
template <>
class fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major>
    : public detail::SubByteFragment<experimental::precision::b1> {};
template <>
class fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major>
    : public detail::SubByteFragment<experimental::precision::b1> {};

template <class Use, class T, class Layout, class Stored>
FABRICBENCH_DEVICE void load_matrix_sync(fragment<Use, 8, 8, 32, T, Layout>& f, const Stored* from,
                                         unsigned int stride) {
  detail::load_word(f, from, stride);
}
template <class Use, class T, class Layout, class Stored>
FABRICBENCH_DEVICE void load_matrix_sync(fragment<Use, 8, 8, 128, T, Layout>& f, const Stored* from,
                                         unsigned int stride) {
  detail::load_word(f, from, stride);
}

// The value's low bits, in every element.
#define FABRICBENCH_FILL(use, depth, layout)                                                                       \
  template <class T, class Value>                                                                                  \
  FABRICBENCH_DEVICE void fill_fragment(fragment<use, 8, 8, depth, T, layout>& f, const Value& value) {            \
    constexpr unsigned int kOnes = depth == 32 ? 0x11111111u : 0xffffffffu;                                        \
    constexpr unsigned int kMask = depth == 32 ? 15 : 1;                                                           \
    f.x[0] = static_cast<typename detail::SubByte<T>::Stored>((static_cast<unsigned int>(value) & kMask) * kOnes); \
  }
FABRICBENCH_FILL(matrix_a, 32, row_major)
FABRICBENCH_FILL(matrix_b, 32, col_major)
FABRICBENCH_FILL(matrix_a, 128, row_major)
FABRICBENCH_FILL(matrix_b, 128, col_major)
#undef FABRICBENCH_FILL

#define FABRICBENCH_SUB_BYTE(depth, form, d, a, b, c)                                            \
  asm volatile("mma.sync.aligned.m8n8k" depth ".row.col" form " {%0, %1}, {%2}, {%3}, {%4, %5};" \
               : "=r"(d.x[0]), "=r"(d.x[1])                                                      \
               : "r"(a.x[0]), "r"(b.x[0]), "r"(c.x[0]), "r"(c.x[1]))

#define FABRICBENCH_NIBBLES(type)                                                                                   \
  FABRICBENCH_DEVICE void mma_sync(fragment<accumulator, 8, 8, 32, int>& d,                                         \
                                   const fragment<matrix_a, 8, 8, 32, experimental::precision::type, row_major>& a, \
                                   const fragment<matrix_b, 8, 8, 32, experimental::precision::type, col_major>& b, \
                                   const fragment<accumulator, 8, 8, 32, int>& c, bool satf = false) {              \
    if (satf)                                                                                                       \
      FABRICBENCH_SUB_BYTE("32", ".satfinite.s32." #type "." #type ".s32", d, a, b, c);                             \
    else                                                                                                            \
      FABRICBENCH_SUB_BYTE("32", ".s32." #type "." #type ".s32", d, a, b, c);                                       \
  }
FABRICBENCH_NIBBLES(u4)
FABRICBENCH_NIBBLES(s4)
#undef FABRICBENCH_NIBBLES

FABRICBENCH_DEVICE void bmma_sync(fragment<accumulator, 8, 8, 128, int>& d,
                                  const fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major>& a,
                                  const fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major>& b,
                                  const fragment<accumulator, 8, 8, 128, int>& c,
                                  experimental::bmmaBitOp op = experimental::bmmaBitOpXOR,
                                  experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC) {
  if (op == experimental::bmmaBitOpXOR)
    FABRICBENCH_SUB_BYTE("128", ".s32.b1.b1.s32.xor.popc", d, a, b, c);
  else
    FABRICBENCH_SUB_BYTE("128", ".s32.b1.b1.s32.and.popc", d, a, b, c);
}
#undef FABRICBENCH_SUB_BYTE

}  // namespace wmma
}  // namespace nvcuda
