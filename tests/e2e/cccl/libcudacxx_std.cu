// cuda::std in kernels.
#include <cuda/annotated_ptr>
#include <cuda/functional>
#include <cuda/ptx>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/cassert>
#include <cuda/std/chrono>
#include <cuda/std/cmath>
#include <cuda/std/complex>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/ratio>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

#include "checks.h"

__global__ void use(int* out, int n) {
  const cuda::std::complex<float> a(1, 2), b = a * a;
  out[0] = static_cast<int>(b.real());
  out[1] = static_cast<int>(b.imag());
  const auto t = cuda::std::make_tuple(3, 4.5f);
  out[2] = cuda::std::get<0>(t) + static_cast<int>(2 * cuda::std::get<1>(t));
  cuda::std::array<int, 3> values = {n, 2, 3};
  out[3] = values[0] + values[2] + static_cast<int>(values.size());
  out[4] = cuda::std::numeric_limits<short>::max();
  out[5] = static_cast<int>(cuda::std::chrono::milliseconds(cuda::std::chrono::seconds(2)).count());
  out[6] = cuda::std::is_same<cuda::std::remove_const<const int>::type, int>::value;
  out[7] = cuda::std::plus<int>()(n, 1);
  auto pair = cuda::std::make_pair(5, 6);
  cuda::std::swap(pair.first, pair.second);
  out[8] = pair.first * 10 + pair.second;
  out[9] = cuda::maximum<int>{}(3, n);
  cuda::annotated_ptr<int, cuda::access_property::persisting> kept(out + 10);
  *kept = 11;
  cuda::annotated_ptr<int, cuda::access_property::streaming> once{out + 11};
  once[0] = n;
  out[12] = cuda::std::popcount(255u) + cuda::std::countr_zero(8u);
  const auto start = cuda::std::chrono::system_clock::now();
  out[13] = (cuda::std::chrono::system_clock::now() - start).count() >= 0;
  out[14] = cuda::ptx::elect_sync(~0u);
}

int main() {
  int* out = shared_array(16);
  use<<<1, 1>>>(out, 7);
  CHECK(cudaDeviceSynchronize());
  const int expected[] = {-3, 4, 12, 13, 32767, 2000, 1, 8, 65, 7, 11, 7, 11, 1, 1};
  for (int i = 0; i < 15; ++i) CHECK_EQ(out[i], expected[i]);
  const cuda::std::complex<double> c(0, 1);
  CHECK_EQ((c * c).real(), -1.0);  // on the host as well
  return finish();
}
