// Algorithms, iterators and execution policies.
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/tuple.h>

#include "checks.h"

struct Square {
  __host__ __device__ int operator()(int x) const { return x * x; }
};
struct AddPair {
  __host__ __device__ int operator()(const thrust::tuple<int, int>& t) const {
    return thrust::get<0>(t) + 10 * thrust::get<1>(t);
  }
};
struct Saxpy {
  float a;
  __host__ __device__ float operator()(float x, float y) const { return a * x + y; }
};
struct IsOdd {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};

int main() {
  const int n = 1000;
  thrust::device_vector<int> v(n);
  thrust::transform(thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(n), v.begin(), Square());
  CHECK_EQ(static_cast<int>(v[31]), 961);
  CHECK_EQ(thrust::reduce(thrust::counting_iterator<int>(1), thrust::counting_iterator<int>(n + 1)), 500500);
  CHECK_EQ(thrust::reduce(v.begin(), v.begin() + 10, 5, thrust::plus<int>()), 290);
  CHECK_EQ(thrust::transform_reduce(v.begin(), v.begin() + 4, Square(), 0, thrust::plus<int>()), 1 + 16 + 81);

  thrust::device_vector<int> a(4), b(4), c(4);
  for (int i = 0; i < 4; ++i) {
    a[i] = i;
    b[i] = i + 1;
  }
  const auto zipped = thrust::make_zip_iterator(thrust::make_tuple(a.begin(), b.begin()));
  thrust::transform(zipped, zipped + 4, c.begin(), AddPair());
  CHECK_EQ(static_cast<int>(c[3]), 43);
  CHECK_EQ(thrust::inner_product(a.begin(), a.end(), b.begin(), 0), 20);
  CHECK_EQ(thrust::count_if(a.begin(), a.end(), IsOdd()), 2);
  CHECK_EQ(thrust::max_element(b.begin(), b.end()) - b.begin(), 3);

  float *x = shared_array<float>(n), *y = shared_array<float>(n);
  for (int i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i);
    y[i] = 1;
  }
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  thrust::transform(thrust::cuda::par.on(stream), x, x + n, y, y, Saxpy{2});
  CHECK(cudaStreamSynchronize(stream));
  CHECK_EQ(y[999], 1999.0f);
  thrust::for_each(thrust::device, x, x + n, [] __device__(float& value) { value = -value; });
  CHECK(cudaDeviceSynchronize());
  CHECK_EQ(x[5], -5.0f);
  CHECK_EQ(thrust::reduce(thrust::host, x, x + 3), -3.0f);
  return finish();
}
