// What a texel's format becomes: integers, normalized integers, halves; linear memory and pitched memory.

#include <cuda_fp16.h>

#include <cmath>
#include <vector>

#include "checks.h"

namespace {

constexpr int kCount = 64;

template <class T>
__global__ void fetch(cudaTextureObject_t texture, T* out, int first) {
  out[threadIdx.x] = tex1Dfetch<T>(texture, first + static_cast<int>(threadIdx.x));
}

template <class T>
__global__ void read_row(cudaTextureObject_t texture, T* out, int y) {
  out[threadIdx.x] = tex2D<T>(texture, threadIdx.x + 0.5f, y + 0.5f);
}

template <class T>
cudaTextureObject_t texture_of(T* memory, size_t bytes, cudaChannelFormatDesc format, cudaTextureReadMode read) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = memory;
  resource.res.linear.desc = format;
  resource.res.linear.sizeInBytes = bytes;
  cudaTextureDesc how{};
  how.readMode = read;
  cudaTextureObject_t texture;
  CHECK_CUDA(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  return texture;
}

// Texels of type T, read as R, 8 of them before the memory and 8 behind it: zeros.
template <class R, class T, class Expect>
void check_linear(const std::vector<T>& texels, cudaChannelFormatDesc format, cudaTextureReadMode read, Expect expect) {
  T* memory;
  R* out;
  const int threads = kCount + 16;
  CHECK_CUDA(cudaMalloc(&memory, kCount * sizeof(T)));
  CHECK_CUDA(cudaMalloc(&out, threads * sizeof(R)));
  CHECK_CUDA(cudaMemcpy(memory, texels.data(), kCount * sizeof(T), cudaMemcpyHostToDevice));
  const cudaTextureObject_t texture = texture_of(memory, kCount * sizeof(T), format, read);
  fetch<R><<<1, threads>>>(texture, out, -8);
  std::vector<R> got(threads);
  CHECK_CUDA(cudaMemcpy(got.data(), out, threads * sizeof(R), cudaMemcpyDeviceToHost));
  for (int k = 0; k < threads; ++k) {
    const bool inside = k >= 8 && k < 8 + kCount;
    if (!inside) {
      const R zero{};
      CHECK(__builtin_memcmp(&got[k], &zero, sizeof(R)) == 0);
    } else {
      CHECK(expect(texels[k - 8], got[k]));
    }
  }
  CHECK_CUDA(cudaDestroyTextureObject(texture));
  CHECK_CUDA(cudaFree(memory));
  CHECK_CUDA(cudaFree(out));
}

template <class T, class Make>
std::vector<T> texels_of(Make make) {
  std::vector<T> texels(kCount);
  for (int k = 0; k < kCount; ++k) texels[k] = make(k);
  return texels;
}

void check_pitched() {
  constexpr int kRows = 9;
  uchar4* memory;
  size_t pitch;
  CHECK_CUDA(cudaMallocPitch(&memory, &pitch, kCount * sizeof(uchar4), kRows));
  std::vector<uchar4> texels(kCount * kRows);
  for (size_t k = 0; k < texels.size(); ++k)
    texels[k] = make_uchar4(k & 255, k * 3 & 255, k >> 1 & 255, 255 - (k & 255));
  CHECK_CUDA(cudaMemcpy2D(memory, pitch, texels.data(), kCount * sizeof(uchar4), kCount * sizeof(uchar4), kRows,
                          cudaMemcpyHostToDevice));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = memory;
  resource.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
  resource.res.pitch2D.width = kCount;
  resource.res.pitch2D.height = kRows;
  resource.res.pitch2D.pitchInBytes = pitch;
  cudaTextureDesc how{};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  cudaTextureObject_t plain, normalized;
  CHECK_CUDA(cudaCreateTextureObject(&plain, &resource, &how, nullptr));
  how.readMode = cudaReadModeNormalizedFloat;
  CHECK_CUDA(cudaCreateTextureObject(&normalized, &resource, &how, nullptr));
  uchar4* bytes;
  float4* floats;
  CHECK_CUDA(cudaMallocManaged(&bytes, kCount * sizeof(uchar4)));
  CHECK_CUDA(cudaMallocManaged(&floats, kCount * sizeof(float4)));
  for (int y = 0; y < kRows; ++y) {
    read_row<<<1, kCount>>>(plain, bytes, y);
    read_row<<<1, kCount>>>(normalized, floats, y);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int x = 0; x < kCount; ++x) {
      const uchar4 want = texels[y * kCount + x];
      CHECK(bytes[x].x == want.x && bytes[x].y == want.y && bytes[x].z == want.z && bytes[x].w == want.w);
      CHECK(floats[x].x == static_cast<float>(want.x / 255.0) && floats[x].w == static_cast<float>(want.w / 255.0));
    }
  }
  // Rules of cudaCreateTextureObject.
  cudaTextureObject_t refused;
  resource.res.pitch2D.pitchInBytes = pitch + 16;
  CHECK(cudaCreateTextureObject(&refused, &resource, &how, nullptr) != cudaSuccess);
  resource.res.pitch2D.pitchInBytes = pitch;
  resource.res.pitch2D.devPtr = memory + 1;
  CHECK(cudaCreateTextureObject(&refused, &resource, &how, nullptr) != cudaSuccess);
  resource.res.pitch2D.devPtr = memory;
  how.readMode = cudaReadModeElementType;
  how.filterMode = cudaFilterModeLinear;
  CHECK(cudaCreateTextureObject(&refused, &resource, &how, nullptr) != cudaSuccess);
  cudaTextureDesc told;
  CHECK_CUDA(cudaGetTextureObjectTextureDesc(&told, normalized));
  CHECK(told.readMode == cudaReadModeNormalizedFloat && told.addressMode[1] == cudaAddressModeClamp);
  cudaGetLastError();
}

}  // namespace

int main() {
  check_linear<float>(texels_of<float>([](int k) { return k * 0.37f - 5; }), cudaCreateChannelDesc<float>(),
                      cudaReadModeElementType, [](float t, float got) { return t == got; });
  check_linear<int4>(texels_of<int4>([](int k) { return make_int4(k, -k, k * 100000, ~k); }),
                     cudaCreateChannelDesc<int4>(), cudaReadModeElementType,
                     [](int4 t, int4 got) { return t.x == got.x && t.y == got.y && t.z == got.z && t.w == got.w; });
  check_linear<ushort2>(texels_of<ushort2>([](int k) { return make_ushort2(65535 - k, k * 1000); }),
                        cudaCreateChannelDesc<ushort2>(), cudaReadModeElementType,
                        [](ushort2 t, ushort2 got) { return t.x == got.x && t.y == got.y; });
  check_linear<signed char>(texels_of<signed char>([](int k) { return static_cast<signed char>(k * 4 - 128); }),
                            cudaCreateChannelDesc<signed char>(), cudaReadModeElementType,
                            [](signed char t, signed char got) { return t == got; });
  check_linear<float2>(texels_of<short2>([](int k) { return make_short2(k * 1000 - 32768, 32767 - k); }),
                       cudaCreateChannelDesc<short2>(), cudaReadModeNormalizedFloat, [](short2 t, float2 got) {
                         return got.x == static_cast<float>(std::fmax(t.x / 32767.0, -1.0)) &&
                                got.y == static_cast<float>(t.y / 32767.0);
                       });
  check_linear<float2>(texels_of<__half2>([](int k) { return __floats2half2_rn(k * 0.25f, -1.0f / (k + 1)); }),
                       cudaCreateChannelDescHalf2(), cudaReadModeElementType,
                       [](__half2 t, float2 got) { return got.x == __half2float(t.x) && got.y == __half2float(t.y); });
  check_pitched();
  std::printf("OK\n");
}
