#include "virtual_node/num/matrix/matrix_product.h"

#include <cmath>

#ifdef __x86_64__
#include "virtual_node/num/matrix/kernels_x86.h"
#endif

namespace fb::num::matrix {
namespace {

constexpr size_t kRows = 4, kColumns = 8;

template <class T>
void add_plainly(const T* a, const T* b, size_t depth, T* c, size_t stride) {
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t j = 0; j < kColumns; ++j) {
      T sum = c[r * stride + j];
      for (size_t k = 0; k < depth; ++k) sum = std::fma(a[k * kRows + r], b[k * kColumns + j], sum);
      c[r * stride + j] = sum;
    }
  }
}

template <class T>
constexpr Kernel<T> kPortable{"portable", kRows, kColumns, add_plainly<T>};

#ifdef __x86_64__
// All that the files are compiled for.
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

}  // namespace

template <class T>
const Kernel<T>& portable_kernel() {
  return kPortable<T>;
}
template const Kernel<float>& portable_kernel();
template const Kernel<double>& portable_kernel();

template <>
const Kernel<float>& kernel() {
#ifdef __x86_64__
  static const Kernel<float>& chosen = has_avx512() ? kAvx512Kernel32 : has_avx2() ? kAvx2Kernel32 : kPortable<float>;
  return chosen;
#else
  return kPortable<float>;
#endif
}

template <>
const Kernel<double>& kernel() {
#ifdef __x86_64__
  static const Kernel<double>& chosen = has_avx512() ? kAvx512Kernel64 : has_avx2() ? kAvx2Kernel64 : kPortable<double>;
  return chosen;
#else
  return kPortable<double>;
#endif
}

}  // namespace fb::num::matrix
