// Reads of 1D, 2D and 3D textures with all address modes and filters, against the formulas of the programming guide.

#include <cmath>
#include <cstdio>
#include <vector>

#include "checks.h"

namespace {

constexpr int kWidth = 7, kHeight = 5, kDepth = 3, kPoints = 4096;

struct Case {
  int dimensions;
  cudaTextureAddressMode mode;
  cudaTextureFilterMode filter;
  bool normalized;
};

__global__ void sample(cudaTextureObject_t texture, int dimensions, const float3* points, float2* out, int n) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n) return;
  const float3 p = points[k];
  out[k] = dimensions == 1   ? tex1D<float2>(texture, p.x)
           : dimensions == 2 ? tex2D<float2>(texture, p.x, p.y)
                             : tex3D<float2>(texture, p.x, p.y, p.z);
}

// The oracle: one dimension at a time, recursively.

float2 texel(const std::vector<float2>& image, const Case& c, const int (&size)[3], const int (&at)[3]) {
  int index = 0;
  for (int d = c.dimensions - 1; d >= 0; --d) {
    int i = at[d];
    if (i < 0 || i >= size[d]) {
      if (c.mode == cudaAddressModeBorder) return {10, 20};
      if (c.mode == cudaAddressModeWrap && c.normalized) {
        i = ((i % size[d]) + size[d]) % size[d];
      } else {
        i = i < 0 ? 0 : size[d] - 1;
      }
    }
    index = index * size[d] + i;
  }
  return image[index];
}

void expect(const std::vector<float2>& image, const Case& c, const int (&size)[3], const double (&p)[3], int d,
            int (&at)[3], double weight, double (&sum)[2]) {
  if (d == c.dimensions) {
    const float2 t = texel(image, c, size, at);
    if (weight != 0) sum[0] += weight * t.x, sum[1] += weight * t.y;
    return;
  }
  double x = p[d];
  if (c.normalized) {
    const double whole = std::floor(x);
    if (c.mode == cudaAddressModeWrap) x -= whole;
    if (c.mode == cudaAddressModeMirror) x = static_cast<long>(whole) % 2 == 0 ? x - whole : 1 - (x - whole);
    x *= size[d];
  }
  if (c.filter == cudaFilterModePoint) {
    at[d] = static_cast<int>(std::floor(x));
    return expect(image, c, size, p, d + 1, at, weight, sum);
  }
  const double shifted = std::floor((x - 0.5) * 256 + 0.5) / 256;  // 8 bits behind the point
  const int first = static_cast<int>(std::floor(shifted));
  const double second = shifted - first;
  at[d] = first;
  expect(image, c, size, p, d + 1, at, weight * (1 - second), sum);
  at[d] = first + 1;
  expect(image, c, size, p, d + 1, at, weight * second, sum);
}

bool run(const Case& c) {
  const int size[3] = {kWidth, c.dimensions > 1 ? kHeight : 1, c.dimensions > 2 ? kDepth : 1};
  std::vector<float2> image(size[0] * size[1] * size[2]);
  for (size_t k = 0; k < image.size(); ++k) image[k] = {static_cast<float>(k * k % 97), 1.0f / (k + 1)};

  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float2>();
  cudaArray_t array;
  CHECK_CUDA(cudaMalloc3DArray(&array, &format,
                               make_cudaExtent(kWidth, c.dimensions > 1 ? kHeight : 0, c.dimensions > 2 ? kDepth : 0)));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(image.data(), kWidth * sizeof(float2), kWidth, size[1]);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(kWidth, size[1], size[2]);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK_CUDA(cudaMemcpy3D(&copy));

  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how{};
  for (auto& mode : how.addressMode) mode = c.mode;
  how.filterMode = c.filter;
  how.readMode = cudaReadModeElementType;
  how.normalizedCoords = c.normalized;
  how.borderColor[0] = 10;
  how.borderColor[1] = 20;
  cudaTextureObject_t texture;
  CHECK_CUDA(cudaCreateTextureObject(&texture, &resource, &how, nullptr));

  std::vector<float3> points(kPoints);
  unsigned seed = 1;
  const auto draw = [&](int extent) {
    seed = seed * 1664525 + 1013904223;
    // Multiples of 1/512, so that the rounding of a weight never depends on the last bit of a product.
    const float wide = static_cast<float>(static_cast<int>(seed >> 8) % (3 * extent * 512) - extent * 512) / 512;
    return c.normalized ? std::ldexp(std::floor(std::ldexp(wide / extent, 12)), -12) : wide;
  };
  for (float3& p : points) p = {draw(kWidth), draw(kHeight), draw(kDepth)};
  float3* device_points;
  float2* device_out;
  CHECK_CUDA(cudaMalloc(&device_points, kPoints * sizeof(float3)));
  CHECK_CUDA(cudaMalloc(&device_out, kPoints * sizeof(float2)));
  CHECK_CUDA(cudaMemcpy(device_points, points.data(), kPoints * sizeof(float3), cudaMemcpyHostToDevice));
  sample<<<(kPoints + 127) / 128, 128>>>(texture, c.dimensions, device_points, device_out, kPoints);
  CHECK_CUDA(cudaGetLastError());
  std::vector<float2> out(kPoints);
  CHECK_CUDA(cudaMemcpy(out.data(), device_out, kPoints * sizeof(float2), cudaMemcpyDeviceToHost));

  bool right = true;
  for (int k = 0; k < kPoints && right; ++k) {
    const double p[3] = {points[k].x, points[k].y, points[k].z};
    double sum[2] = {0, 0};
    int at[3] = {0, 0, 0};
    expect(image, c, size, p, 0, at, 1, sum);
    right = static_cast<float>(sum[0]) == out[k].x && static_cast<float>(sum[1]) == out[k].y;
    if (!right) {
      std::printf("%dD mode %d filter %d normalized %d at (%g, %g, %g): (%g, %g), not (%g, %g)\n", c.dimensions, c.mode,
                  c.filter, c.normalized, p[0], p[1], p[2], out[k].x, out[k].y, sum[0], sum[1]);
    }
  }
  CHECK_CUDA(cudaDestroyTextureObject(texture));
  CHECK_CUDA(cudaFreeArray(array));
  CHECK_CUDA(cudaFree(device_points));
  CHECK_CUDA(cudaFree(device_out));
  return right;
}

}  // namespace

int main() {
  int wrong = 0;
  for (int dimensions = 1; dimensions <= 3; ++dimensions) {
    for (const auto mode : {cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder}) {
      for (const auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
        for (const bool normalized : {false, true}) wrong += !run({dimensions, mode, filter, normalized});
      }
    }
  }
  if (wrong == 0) std::printf("OK\n");
  return wrong;
}
