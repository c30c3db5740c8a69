#include <immintrin.h>

#include "virtual_node/num/matrix/kernels_x86.h"

namespace fb::num::matrix {
namespace {

#include "virtual_node/num/matrix/vector_kernel.h"

struct Floats {
  using Element = float;
  using Register = __m256;
  static constexpr size_t kLanes = 8;
  static Register load(const float* at) { return _mm256_loadu_ps(at); }
  static void store(float* at, Register x) { _mm256_storeu_ps(at, x); }
  static Register spread(float x) { return _mm256_set1_ps(x); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm256_fmadd_ps(a, b, c); }
};

struct Doubles {
  using Element = double;
  using Register = __m256d;
  static constexpr size_t kLanes = 4;
  static Register load(const double* at) { return _mm256_loadu_pd(at); }
  static void store(double* at, Register x) { _mm256_storeu_pd(at, x); }
  static Register spread(double x) { return _mm256_set1_pd(x); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm256_fmadd_pd(a, b, c); }
};

}  // namespace

const Kernel<float> kAvx2Kernel32 = make_kernel<Floats, 6>("avx2");
const Kernel<double> kAvx2Kernel64 = make_kernel<Doubles, 6>("avx2");

}  // namespace fb::num::matrix
