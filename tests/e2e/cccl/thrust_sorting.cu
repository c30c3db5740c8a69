// Algorithms that reorder: sorts, scans, removals.
#include <thrust/device_vector.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

#include "checks.h"

struct IsOdd {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};

int main() {
  const int n = 1000;
  thrust::device_vector<int> v(n), w(n);
  for (int i = 0; i < 8; ++i) w[i] = (i * 5) % 8;
  thrust::sort(w.begin(), w.begin() + 8);
  for (int i = 0; i < 8; ++i) CHECK_EQ(static_cast<int>(w[i]), i);
  thrust::device_vector<float> keys(n);
  for (int i = 0; i < n; i += 9) keys[i] = static_cast<float>(-i);
  for (int i = 0; i < n; i += 9) v[i] = i;
  thrust::sort_by_key(keys.begin(), keys.end(), v.begin());
  CHECK_EQ(static_cast<float>(keys[0]), -999.0f);
  CHECK_EQ(static_cast<int>(v[0]), 999);

  thrust::exclusive_scan(thrust::constant_iterator<int>(2), thrust::constant_iterator<int>(2) + n, w.begin());
  CHECK_EQ(static_cast<int>(w[n - 1]), 2 * (n - 1));
  thrust::device_vector<int> a(4);
  for (int i = 0; i < 4; ++i) a[i] = i;
  CHECK_EQ(thrust::remove_if(a.begin(), a.end(), IsOdd()) - a.begin(), 2);
  thrust::device_vector<int> repeated(6, 3);
  CHECK_EQ(thrust::unique(repeated.begin(), repeated.end()) - repeated.begin(), 1);
  return finish();
}
