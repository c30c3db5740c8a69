// What compiled programs register and call: templates, variables of all kinds, dynamic shared memory, attributes, symbols.
#include <cstdio>
#include <vector>

__device__ int counter;
__constant__ int factor = 5;
__managed__ int offset = 3;

template <class T>
__global__ void scale(T* values, int count) {
  extern __shared__ int staged[];
  const int k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  staged[threadIdx.x] = k;
  __syncthreads();
  if (k < count) {
    values[k] = static_cast<T>(staged[threadIdx.x] * factor + offset);
    atomicAdd(&counter, 1);
  }
}

static void check(cudaError_t error, int line) {
  if (error == cudaSuccess) return;
  std::printf("line %d: %s\n", line, cudaGetErrorString(error));
  std::exit(1);
}
#define CHECK(call) check(call, __LINE__)

int main() {
  constexpr int kCount = 100;
  float* values = nullptr;
  CHECK(cudaMalloc(&values, kCount * sizeof(float)));
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  offset = 7;
  scale<float><<<4, 32, 32 * sizeof(int), stream>>>(values, kCount);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(stream));
  std::vector<float> host(kCount);
  CHECK(cudaMemcpy(host.data(), values, kCount * sizeof(float), cudaMemcpyDeviceToHost));
  int counted = 0, doubled = 10;
  CHECK(cudaMemcpyFromSymbol(&counted, counter, sizeof counted));
  CHECK(cudaMemcpyToSymbol(factor, &doubled, sizeof doubled));
  scale<double><<<1, 32, 32 * sizeof(int)>>>(reinterpret_cast<double*>(values), 4);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  double wide[4];
  CHECK(cudaMemcpy(wide, values, sizeof wide, cudaMemcpyDeviceToHost));
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, scale<float>));
  std::printf("%g %g %d %g %d\n", host[1], host[99], counted, wide[3], attributes.maxThreadsPerBlock);
}
