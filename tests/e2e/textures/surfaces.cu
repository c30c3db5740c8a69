// Surfaces: writes and reads of all geometries, and what happens outside. A surface and a texture of one array see the
// same texels.

#include <cstring>
#include <type_traits>
#include <vector>

#include "checks.h"

namespace {

constexpr int kWidth = 16, kHeight = 4, kDepth = 3;

cudaResourceDesc resource_of(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

template <class T>
cudaArray_t make_array(int width, int height, int depth, unsigned flags = 0) {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
  cudaArray_t array;
  CHECK_CUDA(
      cudaMalloc3DArray(&array, &format, make_cudaExtent(width, height, depth), flags | cudaArraySurfaceLoadStore));
  return array;
}

cudaSurfaceObject_t surface_of(cudaArray_t array) {
  const cudaResourceDesc resource = resource_of(array);
  cudaSurfaceObject_t surface;
  CHECK_CUDA(cudaCreateSurfaceObject(&surface, &resource));
  return surface;
}

template <class T>
__device__ T value(int x, int y, int z) {
  T v;
  unsigned char bytes[sizeof(T)];
  for (unsigned k = 0; k < sizeof(T); ++k) bytes[k] = static_cast<unsigned char>(x * 7 + y * 31 + z * 101 + k);
  memcpy(&v, bytes, sizeof(T));
  return v;
}

template <class T>
__device__ bool same(const T& a, const T& b) {
  const auto* p = reinterpret_cast<const unsigned char*>(&a);
  const auto* q = reinterpret_cast<const unsigned char*>(&b);
  for (unsigned k = 0; k < sizeof(T); ++k) {
    if (p[k] != q[k]) return false;
  }
  return true;
}

// out[k]: texels that came back wrong, by geometry.
template <class T>
__global__ void write_and_read(cudaSurfaceObject_t line, cudaSurfaceObject_t plane, cudaSurfaceObject_t box,
                               cudaSurfaceObject_t lines, cudaSurfaceObject_t planes, int* wrong) {
  const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  const int b = x * static_cast<int>(sizeof(T));
  const T v = value<T>(x, y, z);
  if (y == 0 && z == 0) surf1Dwrite(v, line, b);
  if (z == 0) surf2Dwrite(v, plane, b, y);
  surf3Dwrite(v, box, b, y, z);
  if (y == 0) surf1DLayeredwrite(v, lines, b, z);
  surf2DLayeredwrite(v, planes, b, y, z);
  __syncthreads();
  const auto check = [&](T got, T want, int k) {
    if (!same(got, want)) atomicAdd(&wrong[k], 1);
  };
  check(surf1Dread<T>(line, b), value<T>(x, 0, 0), 0);
  T got;
  surf2Dread(&got, plane, b, y);
  check(got, value<T>(x, y, 0), 1);
  check(surf3Dread<T>(box, b, y, z), v, 2);
  check(surf1DLayeredread<T>(lines, b, z), value<T>(x, 0, z), 3);
  check(surf2DLayeredread<T>(planes, b, y, z), v, 4);
  // Outside: the nearest texel, or zero.
  check(surf2Dread<T>(plane, b + kWidth * static_cast<int>(sizeof(T)), y, cudaBoundaryModeClamp),
        value<T>(kWidth - 1, y, 0), 5);
  check(surf2Dread<T>(plane, b, y - kHeight, cudaBoundaryModeClamp), value<T>(x, 0, 0), 6);
  T zero;
  memset(&zero, 0, sizeof(T));
  check(surf3Dread<T>(box, b, y, z + kDepth, cudaBoundaryModeZero), zero, 7);
  surf2Dwrite(value<T>(99, 99, 99), plane, b, y + kHeight, cudaBoundaryModeZero);  // dropped
}

__global__ void look_again(cudaSurfaceObject_t plane, cudaTextureObject_t texture, int* wrong) {
  const int x = threadIdx.x, y = threadIdx.y;
  const uchar4 a = surf2Dread<uchar4>(plane, x * 4, y), b = tex2D<uchar4>(texture, x, y), want = value<uchar4>(x, y, 0);
  if (!same(a, want) || !same(b, want)) atomicAdd(wrong, 1);
}

template <class T>
void check_type() {
  int* wrong;
  CHECK_CUDA(cudaMallocManaged(&wrong, 8 * sizeof(int)));
  memset(wrong, 0, 8 * sizeof(int));
  const cudaArray_t plane = make_array<T>(kWidth, kHeight, 0);
  const cudaSurfaceObject_t surface = surface_of(plane);
  write_and_read<T><<<1, dim3(kWidth, kHeight, kDepth)>>>(
      surface_of(make_array<T>(kWidth, 0, 0)), surface, surface_of(make_array<T>(kWidth, kHeight, kDepth)),
      surface_of(make_array<T>(kWidth, 0, kDepth, cudaArrayLayered)),
      surface_of(make_array<T>(kWidth, kHeight, kDepth, cudaArrayLayered)), wrong);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int k = 0; k < 8; ++k) CHECK(wrong[k] == 0);
  if constexpr (std::is_same_v<T, uchar4>) {
    const cudaResourceDesc resource = resource_of(plane);
    const cudaTextureDesc how{};
    cudaTextureObject_t texture;
    CHECK_CUDA(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    look_again<<<1, dim3(kWidth, kHeight)>>>(surface, texture, wrong);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(wrong[0] == 0);
  }
  CHECK_CUDA(cudaDestroySurfaceObject(surface));
}

}  // namespace

int main() {
  check_type<unsigned char>();
  check_type<short>();
  check_type<short2>();
  check_type<uchar4>();
  check_type<int>();
  check_type<float2>();
  check_type<ushort4>();
  check_type<float4>();
  // A surface needs an array that was made for it.
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK_CUDA(cudaMallocArray(&array, &format, 4, 4));
  const cudaResourceDesc resource = resource_of(array);
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateSurfaceObject(&surface, &resource) != cudaSuccess);
  cudaGetLastError();
  std::printf("OK\n");
}
