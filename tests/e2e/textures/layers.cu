// Layers, cubemaps, mipmaps, gathered texels.

#include <cmath>
#include <vector>

#include "checks.h"

namespace {

constexpr int kSize = 8;

cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureFilterMode filter, bool normalized) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how{};
  for (auto& mode : how.addressMode) mode = cudaAddressModeClamp;
  how.filterMode = filter;
  how.normalizedCoords = normalized;
  cudaTextureObject_t texture;
  CHECK_CUDA(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  return texture;
}

// An array of `planes` layers whose texel (x, y, z) is 100 z + 10 y + x.
cudaArray_t make_layers(int width, int height, int planes, unsigned flags) {
  const int rows = height == 0 ? 1 : height;
  std::vector<float> texels(width * rows * planes);
  for (int z = 0; z < planes; ++z) {
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < width; ++x) texels[(z * rows + y) * width + x] = 100.0f * z + 10 * y + x;
    }
  }
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK_CUDA(cudaMalloc3DArray(&array, &format, make_cudaExtent(width, height, planes), flags));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(texels.data(), width * sizeof(float), width, rows);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(width, rows, planes);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK_CUDA(cudaMemcpy3D(&copy));
  return array;
}

__global__ void read_layers(cudaTextureObject_t lines, cudaTextureObject_t planes, float* out) {
  const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  const int k = (z * blockDim.y + y) * blockDim.x + x;
  out[2 * k] = tex1DLayered<float>(lines, x + 0.5f, z);
  out[2 * k + 1] = tex2DLayered<float>(planes, x + 0.5f, y + 0.5f, z);
}

void check_layers() {
  const cudaTextureObject_t lines = texture_of(make_layers(kSize, 0, 3, cudaArrayLayered), cudaFilterModePoint, false);
  const cudaTextureObject_t planes = texture_of(make_layers(kSize, 4, 3, cudaArrayLayered), cudaFilterModePoint, false);
  float* out;
  CHECK_CUDA(cudaMallocManaged(&out, 2 * kSize * 4 * 5 * sizeof(float)));
  read_layers<<<1, dim3(kSize, 4, 5)>>>(lines, planes, out);  // layers 3 and 4 are layer 2
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int z = 0; z < 5; ++z) {
    for (int y = 0; y < 4; ++y) {
      for (int x = 0; x < kSize; ++x) {
        const int k = (z * 4 + y) * kSize + x, layer = z < 3 ? z : 2;
        CHECK(out[2 * k] == 100.0f * layer + x);
        CHECK(out[2 * k + 1] == 100.0f * layer + 10 * y + x);
      }
    }
  }
}

__global__ void read_cubes(cudaTextureObject_t cube, cudaTextureObject_t cubes, const float3* directions, float* out) {
  const float3 d = directions[threadIdx.x];
  out[2 * threadIdx.x] = texCubemap<float>(cube, d.x, d.y, d.z);
  out[2 * threadIdx.x + 1] = texCubemapLayered<float>(cubes, d.x, d.y, d.z, 1);
}

void check_cubes() {
  const cudaTextureObject_t cube =
      texture_of(make_layers(kSize, kSize, 6, cudaArrayCubemap), cudaFilterModePoint, true);
  const cudaTextureObject_t cubes =
      texture_of(make_layers(kSize, kSize, 12, cudaArrayCubemap | cudaArrayLayered), cudaFilterModePoint, true);
  // For each face a direction with the coordinates s, t of the guide's table, and the texel it names.
  struct Row {
    float3 direction;
    int face;
    double s, t;
  };
  const Row rows[] = {{{2, 0.5f, -1}, 0, 1, -0.5}, {{-2, 0.5f, -1}, 1, -1, -0.5}, {{1, 2, 0.5f}, 2, 1, 0.5},
                      {{1, -2, 0.5f}, 3, 1, -0.5}, {{0.5f, 1, 2}, 4, 0.5, -1},    {{0.5f, 1, -2}, 5, -0.5, -1}};
  float3* directions;
  float* out;
  CHECK_CUDA(cudaMallocManaged(&directions, 6 * sizeof(float3)));
  CHECK_CUDA(cudaMallocManaged(&out, 12 * sizeof(float)));
  for (int k = 0; k < 6; ++k) directions[k] = rows[k].direction;
  read_cubes<<<1, 6>>>(cube, cubes, directions, out);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int k = 0; k < 6; ++k) {
    const int x = static_cast<int>((rows[k].s / 2 + 1) / 2 * kSize),
              y = static_cast<int>((rows[k].t / 2 + 1) / 2 * kSize);
    CHECK(out[2 * k] == 100.0f * rows[k].face + 10 * y + x);
    CHECK(out[2 * k + 1] == 100.0f * (6 + rows[k].face) + 10 * y + x);
  }
}

__global__ void read_levels(cudaTextureObject_t texture, float* out) {
  for (int k = 0; k < 8; ++k) out[k] = tex2DLod<float>(texture, 0.3f, 0.3f, 0.5f * k);
  out[8] = tex2D<float>(texture, 0.3f, 0.3f);
  out[9] = tex2DGrad<float>(texture, 0.3f, 0.3f, make_float2(0.25f, 0), make_float2(0, 0.125f));  // 4 texels: level 2
}

void check_mipmaps() {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t array;
  CHECK_CUDA(cudaMallocMipmappedArray(&array, &format, make_cudaExtent(16, 16, 0), 5));
  for (int level = 0; level < 5; ++level) {
    cudaArray_t one;
    CHECK_CUDA(cudaGetMipmappedArrayLevel(&one, array, level));
    const int size = 16 >> level;
    cudaExtent extent;
    cudaChannelFormatDesc told;
    unsigned flags;
    CHECK_CUDA(cudaArrayGetInfo(&told, &extent, &flags, one));
    CHECK(extent.width == static_cast<size_t>(size) && extent.height == static_cast<size_t>(size) && told.x == 32);
    const std::vector<float> texels(size * size, 10.0f * level);
    CHECK_CUDA(cudaMemcpy2DToArray(one, 0, 0, texels.data(), size * 4, size * 4, size, cudaMemcpyHostToDevice));
  }
  cudaArray_t none;
  CHECK(cudaGetMipmappedArrayLevel(&none, array, 5) == cudaErrorInvalidValue);
  cudaGetLastError();
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = array;
  cudaTextureDesc how{};
  for (auto& mode : how.addressMode) mode = cudaAddressModeClamp;
  how.normalizedCoords = 1;
  how.maxMipmapLevelClamp = 3;
  float* out;
  CHECK_CUDA(cudaMallocManaged(&out, 10 * sizeof(float)));
  for (const auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
    how.mipmapFilterMode = filter;
    cudaTextureObject_t texture;
    CHECK_CUDA(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    read_levels<<<1, 1>>>(texture, out);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int k = 0; k < 8; ++k) {
      const double lod = std::fmin(0.5 * k, 3);
      const double level = filter == cudaFilterModeLinear ? lod : std::floor(lod + 0.5);
      CHECK(out[k] == static_cast<float>(10 * level));
    }
    CHECK(out[8] == 0 && out[9] == 20);
    CHECK_CUDA(cudaDestroyTextureObject(texture));
  }
  CHECK_CUDA(cudaFreeMipmappedArray(array));
}

__global__ void gather(cudaTextureObject_t texture, float4* out) {
  out[0] = tex2Dgather<float4>(texture, 3.0f, 2.0f);
  out[1] = tex2Dgather<float4>(texture, 3.0f, 2.0f, 3);
}

void check_gather() {
  const cudaTextureObject_t texture =
      texture_of(make_layers(kSize, kSize, 1, cudaArrayLayered | cudaArrayTextureGather), cudaFilterModePoint, false);
  float4* out;
  CHECK_CUDA(cudaMallocManaged(&out, 2 * sizeof(float4)));
  gather<<<1, 1>>>(texture, out);
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK(out[0].x == 22 && out[0].y == 23 && out[0].z == 13 && out[0].w == 12);
}

}  // namespace

int main() {
  check_layers();
  check_cubes();
  check_mipmaps();
  check_gather();
  std::printf("OK\n");
}
