// Copies and sums of arrays: what bounds them is how many loads are in flight.
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "suite.h"

__global__ void copy(const float4* from, float4* to, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) to[i] = from[i];
}

__global__ void add_four(const float* a, const float* b, const float* c, const float* d, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = a[i] + b[i] + c[i] + d[i];
}

struct Sources {
  const float* from[8];
};

__global__ void add_eight(Sources s, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < 8; ++k) sum += s.from[k][i];
  out[i] = sum;
}

__global__ void axpy(const __half2* x, __half2* y, __half2 a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = __hfma2(a, x[i], y[i]);
}

__global__ void transpose(const float* from, float* to, int n) {
  __shared__ float tile[32][33];
  for (int k = 0; k < 32; k += 8)
    tile[threadIdx.y + k][threadIdx.x] = from[(blockIdx.y * 32 + threadIdx.y + k) * n + blockIdx.x * 32 + threadIdx.x];
  __syncthreads();
  for (int k = 0; k < 32; k += 8)
    to[(blockIdx.x * 32 + threadIdx.y + k) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y + k];
}

__global__ void to_fp8(const float* from, uint8_t* to, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    to[i] = __nv_cvt_float_to_fp8(from[i] * 0.5f, __NV_SATFINITE, __NV_E4M3);
}

__global__ void gather(const int* index, const float4* from, float4* to, int n) {
  for (int i = threadIdx.x; i < 64; i += blockDim.x) to[blockIdx.x * 64 + i] = from[index[blockIdx.x] * 64 + i];
}

int main() {
  constexpr int n = 1 << 16;
  Array<float> a(n), b(n), c(n), d(n), out(n);
  copy<<<16, 256>>>(reinterpret_cast<const float4*>(a.data), reinterpret_cast<float4*>(out.data), n / 4);
  out.print("copy");
  add_four<<<16, 256>>>(a.data, b.data, c.data, d.data, out.data, n);
  out.print("add_four");
  add_eight<<<n / 256, 256>>>({{a.data, b.data, c.data, d.data, a.data, b.data, c.data, d.data}}, out.data, n);
  out.print("add_eight");
  Array<__half> x(n), y(n);
  axpy<<<16, 256>>>(reinterpret_cast<const __half2*>(x.data), reinterpret_cast<__half2*>(y.data), __float2half2_rn(2),
                    n / 2);
  y.print("axpy");
  transpose<<<dim3(8, 8), dim3(32, 8)>>>(a.data, out.data, 256);
  out.print("transpose");
  Array<uint8_t> eight(n);
  to_fp8<<<16, 256>>>(a.data, eight.data, n);
  eight.print("to_fp8");
  Array<int> index(64);
  gather<<<64, 64>>>(index.data, reinterpret_cast<const float4*>(a.data), reinterpret_cast<float4*>(out.data), n);
  out.print("gather");
}
