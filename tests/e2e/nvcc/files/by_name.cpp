// Plain C++: launches kernels of named.cu by their addresses.
#include <cuda_runtime_api.h>

#include <cstdio>

void fill(int* out);
namespace sums {
template <class T>
void total(T* out, int count);
extern template void total<int>(int*, int);
}  // namespace sums

int main() {
  int *out = nullptr, count = 8, sum = 0;
  cudaMalloc(reinterpret_cast<void**>(&out), 8 * sizeof *out);
  void *first[] = {&out}, *second[] = {&out, &count};
  cudaLaunchKernel(reinterpret_cast<const void*>(&fill), dim3(1), dim3(8), first, 0, nullptr);
  cudaLaunchKernel(reinterpret_cast<const void*>(&sums::total<int>), dim3(1), dim3(1), second, 0, nullptr);
  cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost);
  std::printf("%s: %d\n", cudaGetErrorString(cudaGetLastError()), sum);
}
