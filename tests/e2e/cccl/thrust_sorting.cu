// Algorithms that reorder.
#include <thrust/device_vector.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/sort.h>

#include "checks.h"

struct IsOdd {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};

int main() {
  const int n = 1000;
  thrust::device_vector<int> w(n);
  for (int i = 0; i < 8; ++i) w[i] = (i * 5) % 8;
  thrust::sort(w.begin(), w.begin() + 8);
  for (int i = 0; i < 8; ++i) CHECK_EQ(static_cast<int>(w[i]), i);
  thrust::exclusive_scan(thrust::constant_iterator<int>(2), thrust::constant_iterator<int>(2) + n, w.begin());
  CHECK_EQ(static_cast<int>(w[n - 1]), 2 * (n - 1));
  thrust::device_vector<int> a(4);
  for (int i = 0; i < 4; ++i) a[i] = i;
  CHECK_EQ(thrust::remove_if(a.begin(), a.end(), IsOdd()) - a.begin(), 2);
  return finish();
}
