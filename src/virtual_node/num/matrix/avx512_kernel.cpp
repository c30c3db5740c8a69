#include <immintrin.h>

#include "virtual_node/num/matrix/kernels_x86.h"

namespace fb::num::matrix {
namespace {

#include "virtual_node/num/matrix/vector_kernel.h"

struct Floats {
  using Element = float;
  using Register = __m512;
  static constexpr size_t kLanes = 16;
  static Register load(const float* at) { return _mm512_loadu_ps(at); }
  static void store(float* at, Register x) { _mm512_storeu_ps(at, x); }
  static Register spread(float x) { return _mm512_set1_ps(x); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm512_fmadd_ps(a, b, c); }
};

struct Doubles {
  using Element = double;
  using Register = __m512d;
  static constexpr size_t kLanes = 8;
  static Register load(const double* at) { return _mm512_loadu_pd(at); }
  static void store(double* at, Register x) { _mm512_storeu_pd(at, x); }
  static Register spread(double x) { return _mm512_set1_pd(x); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm512_fmadd_pd(a, b, c); }
};

}  // namespace

const Kernel<float> kAvx512Kernel32 = make_kernel<Floats, 12>("avx512");
const Kernel<double> kAvx512Kernel64 = make_kernel<Doubles, 12>("avx512");

}  // namespace fb::num::matrix
