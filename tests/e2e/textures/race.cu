// Two races that --check must report: a texture read and a surface write of bytes that another block writes meanwhile.

#include "checks.h"

namespace {

__global__ void store_and_fetch(cudaTextureObject_t texture, float* memory, float* out) {
  if (blockIdx.x == 0) {
    memory[threadIdx.x] = 1;
  } else {
    out[threadIdx.x] = tex1Dfetch<float>(texture, threadIdx.x);
  }
}

__global__ void write_twice(cudaSurfaceObject_t surface) {
  surf1Dwrite(static_cast<int>(blockIdx.x), surface, threadIdx.x * sizeof(int));
}

}  // namespace

int main() {
  float *memory, *out;
  CHECK_CUDA(cudaMalloc(&memory, 32 * sizeof(float)));
  CHECK_CUDA(cudaMalloc(&out, 32 * sizeof(float)));
  CHECK_CUDA(cudaMemset(memory, 0, 32 * sizeof(float)));
  cudaResourceDesc linear{};
  linear.resType = cudaResourceTypeLinear;
  linear.res.linear.devPtr = memory;
  linear.res.linear.desc = cudaCreateChannelDesc<float>();
  linear.res.linear.sizeInBytes = 32 * sizeof(float);
  const cudaTextureDesc how{};
  cudaTextureObject_t texture;
  CHECK_CUDA(cudaCreateTextureObject(&texture, &linear, &how, nullptr));
  store_and_fetch<<<2, 32>>>(texture, memory, out);
  CHECK_CUDA(cudaDeviceSynchronize());

  const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  cudaArray_t array;
  CHECK_CUDA(cudaMallocArray(&array, &format, 32, 0, cudaArraySurfaceLoadStore));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface;
  CHECK_CUDA(cudaCreateSurfaceObject(&surface, &resource));
  write_twice<<<2, 32>>>(surface);
  CHECK_CUDA(cudaDeviceSynchronize());
  std::printf("OK\n");
}
