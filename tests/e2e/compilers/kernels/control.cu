// Branches, local arrays, lambdas, templates and loops whose counts the compiler does or does not know.
#include "suite.h"

__global__ void switches(const int* a, int* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int v = a[i];
    switch (v) {
      case 0:
        v = i;
        break;
      case 1:
        v = i * 3;
        break;
      case 2:
        v = i ^ 0x55;
        break;
      case 3:
        v = __popc(i);
        break;
      case 4:
        v = i / 7;
        break;
      default:
        v = -v;
        break;
    }
    out[i] = v;
  }
}

__global__ void local_array(const int* a, int* out, int n) {
  int counts[16] = {};
  for (int i = 0; i < n; ++i) ++counts[a[i * 32 + threadIdx.x] & 15];
  int best = 0;
  for (int k = 1; k < 16; ++k)
    if (counts[k] > counts[best]) best = k;
  out[threadIdx.x] = best * 1000 + counts[best];
}

template <class Step>
__device__ void each(int n, Step step) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) step(i);
}

__global__ void with_lambda(const float* a, float* out, int n, float scale) {
  each(n, [=](int i) { out[i] = a[i] * scale + (i > 0 ? a[i - 1] : 0); });
}

template <int R>
__global__ void stencil(const float* a, float* out, int n) {
  extern __shared__ float s[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x + R] = a[i];
  if (threadIdx.x < R) {
    s[threadIdx.x] = i >= R ? a[i - R] : 0;
    s[threadIdx.x + blockDim.x + R] = i + blockDim.x < n ? a[i + blockDim.x] : 0;
  }
  __syncthreads();
  float sum = 0;
  for (int k = -R; k <= R; ++k) sum += s[threadIdx.x + R + k] * (k + R + 1);
  out[i] = sum;
}

__global__ void bodies(const float4* at, float4* force, int n) {
  __shared__ float4 tile[128];
  const float4 mine = at[blockIdx.x * 128 + threadIdx.x];
  float4 sum = {};
  for (int t = 0; t < n; t += 128) {
    tile[threadIdx.x] = at[t + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 128; ++k) {
      const float x = tile[k].x - mine.x, y = tile[k].y - mine.y, z = tile[k].z - mine.z;
      const float w = (x * x + y * y + z * z) * tile[k].w;
      sum.x += x * w;
      sum.y += y * w;
      sum.z += z * w;
    }
    __syncthreads();
  }
  force[blockIdx.x * 128 + threadIdx.x] = sum;
}

__global__ void bitonic(uint32_t* keys) {
  __shared__ uint32_t s[512];
  s[threadIdx.x] = keys[blockIdx.x * 512 + threadIdx.x] * 2654435761u;
  __syncthreads();
  for (int size = 2; size <= 512; size *= 2)
    for (int d = size / 2; d > 0; d /= 2) {
      const int other = threadIdx.x ^ d;
      if (other > threadIdx.x) {
        const bool up = (threadIdx.x & size) == 0;
        const uint32_t x = s[threadIdx.x], y = s[other];
        if ((x > y) == up) {
          s[threadIdx.x] = y;
          s[other] = x;
        }
      }
      __syncthreads();
    }
  keys[blockIdx.x * 512 + threadIdx.x] = s[threadIdx.x];
}

__global__ void find(const int* sorted, const int* wanted, int* out, int n) {
  const int value = wanted[blockIdx.x * blockDim.x + threadIdx.x];
  int low = 0, high = n;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (sorted[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = low;
}

int main() {
  constexpr int n = 1 << 14;
  Array<int> a(n), out(n);
  switches<<<8, 256>>>(a.data, out.data, n);
  out.print("switches");
  local_array<<<1, 32>>>(a.data, out.data, n / 32);
  out.print("local_array");
  Array<float> f(n), g(n);
  with_lambda<<<8, 256>>>(f.data, g.data, n, 3.0f);
  g.print("with_lambda");
  stencil<3><<<n / 256, 256, (256 + 6) * 4>>>(f.data, g.data, n);
  g.print("stencil");
  Array<float> places(4 * 1024), pushes(4 * 1024);
  bodies<<<8, 128>>>(reinterpret_cast<const float4*>(places.data), reinterpret_cast<float4*>(pushes.data), 1024);
  pushes.print("bodies");
  Array<uint32_t> keys(n);
  bitonic<<<n / 512, 512>>>(keys.data);
  keys.print("bitonic");
  find<<<8, 256>>>(a.data, a.data, out.data, n);
  out.print("find");
}
