// mma_sync: d = a × b + c.
#pragma once
#include "fabricbench/matrix/fragment.h"

namespace fabricbench {
namespace matrix {

// step(d, a, b, c): one mma.sync. Operands are the elements of one tile, packed into registers by their bits.
template <class T>
FABRICBENCH_DEVICE unsigned int word(const T* elements) {
  unsigned int bits;
  __builtin_memcpy(&bits, elements, 4);
  return bits;
}
template <class T>
inline constexpr int kPerWord = 4 / sizeof(T);
#define INTO_FLOATS(stored, shape, type)                                                                             \
  FABRICBENCH_DEVICE void step(float* d, const stored* a, const stored* b, const float* c) {                         \
    asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type                                             \
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"                          \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                                                    \
                 : "r"(word(a)), "r"(word(a + kPerWord<stored>)), "r"(word(a + 2 * kPerWord<stored>)),               \
                   "r"(word(a + 3 * kPerWord<stored>)), "r"(word(b)), "r"(word(b + kPerWord<stored>)), "f"(c[0]),    \
                   "f"(c[1]), "f"(c[2]), "f"(c[3]));                                                                 \
  }
INTO_FLOATS(__half, "m16n8k16", "f16")
INTO_FLOATS(__nv_bfloat16, "m16n8k16", "bf16")
INTO_FLOATS(float, "m16n8k8", "tf32")
#undef INTO_FLOATS
FABRICBENCH_DEVICE void step(__half* d, const __half* a, const __half* b, const __half* c) {
  unsigned int low, high;
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};"
      : "=r"(low), "=r"(high)
      : "r"(word(a)), "r"(word(a + 2)), "r"(word(a + 4)), "r"(word(a + 6)), "r"(word(b)), "r"(word(b + 2)),
        "r"(word(c)), "r"(word(c + 2)));
  __builtin_memcpy(d, &low, 4);
  __builtin_memcpy(d + 2, &high, 4);
}
// f16 sums read, f32 sums written, or the other way round: the instruction's sums are f32.
FABRICBENCH_DEVICE void step(float* d, const __half* a, const __half* b, const __half* c) {
  const float wide[4] = {__half2float(c[0]), __half2float(c[1]), __half2float(c[2]), __half2float(c[3])};
  step(d, a, b, wide);
}
FABRICBENCH_DEVICE void step(__half* d, const __half* a, const __half* b, const float* c) {
  float wide[4];
  step(wide, a, b, c);
  for (int i = 0; i < 4; ++i) d[i] = __float2half(wide[i]);
}
#define INTO_INTEGERS(stored, type)                                                                     \
  FABRICBENCH_DEVICE void step(int* d, const stored* a, const stored* b, const int* c) {                \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32." type "." type                                 \
                 ".s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"                            \
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                       \
                 : "r"(word(a)), "r"(word(a + 4)), "r"(word(b)), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3])); \
  }
INTO_INTEGERS(signed char, "s8")
INTO_INTEGERS(unsigned char, "u8")
#undef INTO_INTEGERS
FABRICBENCH_DEVICE void step(double* d, const double* a, const double* b, const double* c) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"
               : "=d"(d[0]), "=d"(d[1])
               : "d"(*a), "d"(*b), "d"(c[0]), "d"(c[1]));
}
// satf: infinities become the largest number, NaN zero. Sums of products of bytes do not reach the limits of an int.
FABRICBENCH_DEVICE float finite(float x) { return x != x ? 0 : fmaxf(fminf(x, 3.402823466e38f), -3.402823466e38f); }
FABRICBENCH_DEVICE __half finite(__half x) {
  return __hisnan(x) ? __half(0.0f) : __half(fmaxf(fminf(__half2float(x), 65504.0f), -65504.0f));
}
FABRICBENCH_DEVICE double finite(double x) { return x; }
FABRICBENCH_DEVICE int finite(int x) { return x; }

}  // namespace matrix
}  // namespace fabricbench

namespace nvcuda {
namespace wmma {

template <int M, int N, int K, class T, class LayoutA, class LayoutB, class Sum, class Addend>
FABRICBENCH_DEVICE void mma_sync(fragment<accumulator, M, N, K, Sum>& d, const fragment<matrix_a, M, N, K, T, LayoutA>& a,
                                 const fragment<matrix_b, M, N, K, T, LayoutB>& b,
                                 const fragment<accumulator, M, N, K, Addend>& c, bool satf = false) {
  using Form = fabricbench::matrix::Kind<T>;
  using Shape = fabricbench::matrix::Shape<M, N, K>;
  constexpr int kDown = Shape::kRows / Form::kRows, kAcross = Shape::kColumns / Form::kColumns;
  const auto* first = Shape::kTransposed ? b.x : a.x;
  const auto* second = Shape::kTransposed ? a.x : b.x;
#pragma unroll
  for (int i = 0; i < kDown; ++i) {
#pragma unroll
    for (int j = 0; j < kAcross; ++j) {
      const int tile = (i * kAcross + j) * Form::kOfC;
      fabricbench::matrix::step(d.x + tile, first + i * Form::kOfA, second + j * Form::kOfB, c.x + tile);
    }
  }
  if (satf) {
    for (int i = 0; i < d.num_elements; ++i) d.x[i] = fabricbench::matrix::finite(d.x[i]);
  }
}

}  // namespace wmma
}  // namespace nvcuda
