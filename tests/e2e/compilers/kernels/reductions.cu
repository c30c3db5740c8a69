// Sums, maxima and scans in the usual ways.
#include <cuda_fp16.h>

#include "suite.h"

__global__ void dot(const float* a, const float* b, float* out, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i] * b[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

__global__ void rows(const float* a, float* out, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 256) sum += a[blockIdx.x * n + i];
  __shared__ float s[256];
  s[threadIdx.x] = sum;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

__global__ void softmax(const float* a, float* out, int n) {
  const float* row = a + blockIdx.x * n;
  float most = row[0], sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) most = fmaxf(most, row[i]);
  for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  for (int i = threadIdx.x; i < n; i += 32) sum += exp2f(row[i] - most);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  for (int i = threadIdx.x; i < n; i += 32) out[blockIdx.x * n + i] = exp2f(row[i] - most) > 0.25f * sum ? 1 : 0;
}

__global__ void layer_norm(const __half* a, __half* out, int n) {
  const int base = blockIdx.x * n;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < n / 2; i += 32) {
    const float2 v = __half22float2(reinterpret_cast<const __half2*>(a + base)[i]);
    sum += v.x + v.y;
    squares += v.x * v.x + v.y * v.y;
  }
  for (int d = 16; d > 0; d /= 2) {
    sum += __shfl_xor_sync(~0u, sum, d);
    squares += __shfl_xor_sync(~0u, squares, d);
  }
  const float mean = sum / n, scale = rsqrtf(squares / n - mean * mean + 1e-5f);
  for (int i = threadIdx.x; i < n; i += 32)
    out[base + i] = __float2half(rintf((__half2float(a[base + i]) - mean) * scale));
}

__global__ void scan(const int* a, int* out, int n) {
  __shared__ int s[2][512];
  int in = 0;
  s[0][threadIdx.x] = a[blockIdx.x * 512 + threadIdx.x];
  __syncthreads();
  for (int d = 1; d < 512; d *= 2) {
    s[in ^ 1][threadIdx.x] = s[in][threadIdx.x] + (threadIdx.x >= d ? s[in][threadIdx.x - d] : 0);
    in ^= 1;
    __syncthreads();
  }
  out[blockIdx.x * 512 + threadIdx.x] = s[in][threadIdx.x];
}

__global__ void histogram(const uint32_t* a, uint32_t* out, int n) {
  __shared__ uint32_t bins[64];
  if (threadIdx.x < 64) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[a[i] * 9 & 63], 1);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

int main() {
  constexpr int n = 1 << 16;
  Array<float> a(n), b(n), out(n);
  dot<<<16, 256>>>(a.data, b.data, out.data, n);
  out.print("dot");
  rows<<<32, 256>>>(a.data, out.data, 2048);
  out.print("rows");
  softmax<<<64, 32>>>(a.data, out.data, 1024);
  out.print("softmax");
  Array<__half> h(n), normal(n);
  layer_norm<<<64, 32>>>(h.data, normal.data, 1024);
  normal.print("layer_norm");
  Array<int> counts(n), sums(n);
  scan<<<n / 512, 512>>>(counts.data, sums.data, n);
  sums.print("scan");
  Array<uint32_t> keys(n), bins(64);
  histogram<<<16, 256>>>(keys.data, bins.data, n);
  bins.print("histogram");
}
