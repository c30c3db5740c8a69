// __managed__ variables: one object for the host and all devices.
#include "checks.h"

__managed__ int counter = 5;
__device__ __managed__ float table[4] = {1, 2, 3, 4};
static __managed__ struct {
  int number;
  double value;
} record;
namespace inner {
__managed__ int* pointer;
}
__managed__ int untouched_by_kernels = 9;
__device__ int plain = 3;

__global__ void change() {
  table[threadIdx.x] *= 2;
  if (threadIdx.x != 0) return;
  counter += plain;
  record.number = 7;
  record.value = 2.5;
  if (inner::pointer) *inner::pointer += 1;
}

int main() {
  CHECK_EQ(counter, 5);  // before any call
  CHECK_EQ(table[3], 4.0f);
  CHECK_EQ(untouched_by_kernels, 9);
  table[0] = 10;
  inner::pointer = &counter;
  change<<<1, 4>>>();
  CHECK(cudaDeviceSynchronize());
  CHECK_EQ(counter, 9);
  CHECK_EQ(table[0], 20.0f);
  CHECK_EQ(table[3], 8.0f);
  CHECK_EQ(record.number, 7);
  CHECK_EQ(record.value, 2.5);

  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  if (devices > 1) {  // the other device has the same variable, and does not begin anew
    CHECK(cudaSetDevice(1));
    change<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    CHECK_EQ(counter, 13);
    CHECK(cudaSetDevice(0));
  }
  counter = 100;
  void* address = nullptr;
  CHECK(cudaGetSymbolAddress(&address, counter));
  CHECK_EQ(address == &counter, true);
  const int value = 55;
  CHECK(cudaMemcpyToSymbol(counter, &value, sizeof value));
  CHECK_EQ(counter, 55);
  cudaPointerAttributes facts{};
  CHECK(cudaPointerGetAttributes(&facts, &counter));
  CHECK_EQ(facts.type == cudaMemoryTypeManaged, true);
  return finish();
}
