// Extended lambdas, in templates that constrain them.
#include <concepts>
#include <type_traits>

#include "checks.h"

template <class F>
__global__ void run(F f, int* out) {
  out[threadIdx.x] = f(static_cast<int>(threadIdx.x));
}
template <std::invocable<int> F>
__global__ void run_invocable(F f, int* out) {
  out[threadIdx.x] = f(static_cast<int>(threadIdx.x));
}
template <class F>
  requires requires(F f) {
    { f(1) } -> std::convertible_to<int>;
  }
void launch(F f, int* out) {
  run<<<1, 4>>>(f, out);
}

int main() {
  int* out = shared_array(4);
  const int n = 3;
  const auto last = [&] {
    CHECK(cudaDeviceSynchronize());
    return out[3];
  };
  run<<<1, 4>>>([=] __device__(int i) { return i * n; }, out);
  CHECK_EQ(last(), 9);
  run_invocable<<<1, 4>>>([=] __device__(int i) { return i * n + 1; }, out);
  CHECK_EQ(last(), 10);
  launch([=] __device__(int i) { return i * n + 2; }, out);
  CHECK_EQ(last(), 11);
  launch([=] __host__ __device__(int i) { return i * n + 3; }, out);
  CHECK_EQ(last(), 12);
  const auto generic = [=] __device__(auto i)
    requires std::integral<decltype(i)>
  { return static_cast<int>(i) * n + 4; };
  run<<<1, 4>>>(generic, out);
  CHECK_EQ(last(), 13);
  return finish();
}
