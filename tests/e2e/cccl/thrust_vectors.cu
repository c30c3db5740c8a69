// Vectors of host and device, and raw pointers into them.
#include <thrust/copy.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/fill.h>
#include <thrust/host_vector.h>
#include <thrust/sequence.h>

#include "checks.h"

__global__ void add_one(int* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] += 1;
}

int main() {
  thrust::host_vector<int> host(1000, 7);
  host[3] = 5;
  thrust::device_vector<int> device = host;
  device[4] = 9;
  add_one<<<4, 256>>>(thrust::raw_pointer_cast(device.data()), 1000);
  host = device;
  CHECK_EQ(host[0], 8);
  CHECK_EQ(host[3], 6);
  CHECK_EQ(host[4], 10);
  device.resize(1500, 3);
  thrust::fill(device.begin(), device.begin() + 10, 42);
  thrust::sequence(device.begin() + 10, device.begin() + 20);
  CHECK_EQ(static_cast<int>(device[9]), 42);
  CHECK_EQ(static_cast<int>(device[19]), 9);
  CHECK_EQ(static_cast<int>(device[1499]), 3);
  thrust::device_vector<int> copy(device.begin(), device.begin() + 20);
  thrust::copy(copy.begin(), copy.end(), host.begin());
  CHECK_EQ(host[15], 5);
  device.push_back(1);
  CHECK_EQ(device.size(), 1501u);
  CHECK_EQ(device == copy, false);
  int* raw = shared_array(8);
  thrust::device_ptr<int> wrapped(raw);
  thrust::fill(wrapped, wrapped + 8, 6);
  CHECK(cudaDeviceSynchronize());
  CHECK_EQ(raw[7], 6);
  return finish();
}
