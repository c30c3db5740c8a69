// __grid_constant__: the parameter itself, not a copy of it.
#include "checks.h"

struct Table {
  int values[64];
};

__device__ __noinline__ int look(const int* values, int at) { return values[at]; }
template <class T>
__global__ void read(const __grid_constant__ T table, const __grid_constant__ int at, int* out) {
  const int* values = table.values;
  out[0] = look(values, at) + values[threadIdx.x + 1];
  out[1] = static_cast<int>(__isGridConstant(values));
  out[2] = static_cast<int>(__isLocal(values));
  out[3] = *static_cast<const int*>(__cvta_grid_constant_to_generic(__cvta_generic_to_grid_constant(values + 2)));
}

int main() {
  Table table;
  for (int i = 0; i < 64; ++i) table.values[i] = i * i;
  int* out = shared_array(4);
  read<<<1, 1>>>(table, 5, out);
  CHECK(cudaDeviceSynchronize());
  const int expected[] = {26, 1, 0, 4};
  for (int i = 0; i < 4; ++i) CHECK_EQ(out[i], expected[i]);
  return finish();
}
