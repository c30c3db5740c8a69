// Copies between arrays, device memory and host memory, of the runtime and of the driver.

#include <cuda.h>

#include <vector>

#include "checks.h"

namespace {

constexpr int kWidth = 10, kHeight = 6, kDepth = 4;

std::vector<int> count(int n) {
  std::vector<int> values(n);
  for (int k = 0; k < n; ++k) values[k] = k + 1;
  return values;
}

void check_planes() {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  cudaArray_t a, b;
  CHECK_CUDA(cudaMallocArray(&a, &format, kWidth, kHeight));
  CHECK_CUDA(cudaMallocArray(&b, &format, kWidth, kHeight));
  const std::vector<int> image = count(kWidth * kHeight);
  constexpr size_t kRow = kWidth * sizeof(int);
  CHECK_CUDA(cudaMemcpy2DToArray(a, 0, 0, image.data(), kRow, kRow, kHeight, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, kRow, kHeight, cudaMemcpyDeviceToDevice));
  std::vector<int> back(kWidth * kHeight);
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_CUDA(cudaMemcpy2DFromArrayAsync(back.data(), kRow, b, 0, 0, kRow, kHeight, cudaMemcpyDeviceToHost, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK(back == image);
  // A part, at an offset.
  std::vector<int> part(6);
  CHECK_CUDA(cudaMemcpy2DFromArray(part.data(), 3 * sizeof(int), a, 2 * sizeof(int), 4, 3 * sizeof(int), 2,
                                   cudaMemcpyDeviceToHost));
  CHECK(part[0] == 4 * kWidth + 3 && part[3] == 5 * kWidth + 3 && part[5] == 5 * kWidth + 5);
  // What does not fit.
  CHECK(cudaMemcpy2DToArray(a, sizeof(int), 0, image.data(), kRow, kRow, 1, cudaMemcpyHostToDevice) ==
        cudaErrorInvalidValue);
  CHECK(cudaMemcpy2DToArray(a, 0, 1, image.data(), kRow, kRow, kHeight, cudaMemcpyHostToDevice) ==
        cudaErrorInvalidValue);
  cudaChannelFormatDesc told;
  CHECK_CUDA(cudaGetChannelDesc(&told, a));
  CHECK(told.x == 32 && told.y == 0 && told.f == cudaChannelFormatKindSigned);
  CHECK_CUDA(cudaFreeArray(a));
  CHECK_CUDA(cudaFreeArray(b));
  CHECK(cudaFreeArray(a) != cudaSuccess);
  cudaGetLastError();
}

void check_boxes() {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  const cudaExtent extent = make_cudaExtent(kWidth, kHeight, kDepth);
  cudaArray_t array;
  CHECK_CUDA(cudaMalloc3DArray(&array, &format, extent));
  const std::vector<int> box = count(kWidth * kHeight * kDepth);
  cudaMemcpy3DParms in{};
  in.srcPtr = make_cudaPitchedPtr(const_cast<int*>(box.data()), kWidth * sizeof(int), kWidth, kHeight);
  in.dstArray = array;
  in.extent = extent;
  in.kind = cudaMemcpyHostToDevice;
  CHECK_CUDA(cudaMemcpy3D(&in));
  // Array to pitched device memory, a box of 3 x 2 x 2 texels at (4, 3, 1).
  cudaPitchedPtr memory;
  CHECK_CUDA(cudaMalloc3D(&memory, make_cudaExtent(3 * sizeof(int), 2, 2)));
  cudaMemcpy3DParms out{};
  out.srcArray = array;
  out.srcPos = make_cudaPos(4, 3, 1);
  out.dstPtr = memory;
  out.extent = make_cudaExtent(3, 2, 2);
  out.kind = cudaMemcpyDeviceToDevice;
  CHECK_CUDA(cudaMemcpy3D(&out));
  int got[2][2][3];
  cudaMemcpy3DParms home{};
  home.srcPtr = memory;
  home.dstPtr = make_cudaPitchedPtr(got, 3 * sizeof(int), 3, 2);
  home.extent = make_cudaExtent(3 * sizeof(int), 2, 2);
  home.kind = cudaMemcpyDeviceToHost;
  CHECK_CUDA(cudaMemcpy3D(&home));
  for (int z = 0; z < 2; ++z) {
    for (int y = 0; y < 2; ++y) {
      for (int x = 0; x < 3; ++x) CHECK(got[z][y][x] == ((1 + z) * kHeight + 3 + y) * kWidth + 4 + x + 1);
    }
  }
  CHECK_CUDA(cudaFreeArray(array));
}

__global__ void sum(CUtexObject texture, int* out) {
  int total = 0;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) total += tex2D<int>(texture, x, y);
  }
  *out = total;
}

void check_driver() {
  CUDA_ARRAY_DESCRIPTOR description{};
  description.Width = kWidth;
  description.Height = kHeight;
  description.Format = CU_AD_FORMAT_SIGNED_INT32;
  description.NumChannels = 1;
  CUarray array;
  CHECK(cuArrayCreate(&array, &description) == CUDA_SUCCESS);
  const std::vector<int> image = count(kWidth * kHeight);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = image.data();
  copy.srcPitch = kWidth * sizeof(int);
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = kWidth * sizeof(int);
  copy.Height = kHeight;
  CHECK(cuMemcpy2D(&copy) == CUDA_SUCCESS);
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  CUDA_TEXTURE_DESC how{};
  how.flags = CU_TRSF_READ_AS_INTEGER;
  CUtexObject texture;
  CHECK(cuTexObjectCreate(&texture, &resource, &how, nullptr) == CUDA_SUCCESS);
  int* out;
  CHECK_CUDA(cudaMallocManaged(&out, sizeof(int)));
  sum<<<1, 1>>>(texture, out);
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK(*out == kWidth * kHeight * (kWidth * kHeight + 1) / 2);
  CUDA_ARRAY_DESCRIPTOR told{};
  CHECK(cuArrayGetDescriptor(&told, array) == CUDA_SUCCESS);
  CHECK(told.Width == kWidth && told.Height == kHeight && told.Format == CU_AD_FORMAT_SIGNED_INT32);
  int row[kWidth];
  CHECK(cuMemcpyAtoH(row, array, 0, sizeof row) == CUDA_SUCCESS);
  CHECK(row[kWidth - 1] == kWidth);
  CHECK(cuTexObjectDestroy(texture) == CUDA_SUCCESS);
  CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
}

// A kernel that is on its way still reads a texture whose object the host destroys.
void check_destroyed_early() {
  constexpr int kBytes = kWidth * kHeight * static_cast<int>(sizeof(int));
  int texels[kWidth * kHeight];
  for (int k = 0; k < kWidth * kHeight; ++k) texels[k] = k + 1;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  cudaArray_t array;
  CHECK_CUDA(cudaMallocArray(&array, &format, kWidth, kHeight));
  CHECK_CUDA(
      cudaMemcpy2DToArray(array, 0, 0, texels, kBytes / kHeight, kBytes / kHeight, kHeight, cudaMemcpyHostToDevice));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how{};
  int* out;
  CHECK_CUDA(cudaMallocManaged(&out, sizeof(int)));
  *out = 0;
  for (int round = 0; round < 3; ++round) {
    cudaTextureObject_t texture;
    CHECK_CUDA(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    sum<<<1, 1>>>(texture, out);
    CHECK_CUDA(cudaDestroyTextureObject(texture));
    CHECK(cudaDestroyTextureObject(texture) == cudaErrorInvalidValue);
    (void)cudaGetLastError();
  }
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK(*out == kWidth * kHeight * (kWidth * kHeight + 1) / 2);
  CHECK_CUDA(cudaFreeArray(array));
}

}  // namespace

int main() {
  check_destroyed_early();
  check_planes();
  check_boxes();
  check_driver();
  std::printf("OK\n");
}
