#include <cuda_fp16.h>
#include <cstdio>
__device__ int table[4] = {1, 2, 3, 4};
__constant__ float weights[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ const char* names[] = {"a", "b"};
struct Record { char c; int* p; double d; };
__device__ Record record = {'q', &table[3], 2.5};
struct Base { __device__ virtual int f(int); };
__device__ int Base::f(int x) { return x + 1; }
__global__ void __launch_bounds__(128, 4) kernel(float* out, const float4* in, __half* h, Base* object, int n) {
  __shared__ float s[64];
  extern __shared__ int dynamic[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 v = in[i];
  s[threadIdx.x & 63] = v.x + __expf(v.y) + v.z * v.w;
  __syncthreads();
  float t = s[(threadIdx.x + 1) & 63];
  t += __shfl_xor_sync(~0u, t, 3) + __reduce_add_sync(~0u, i) + __ballot_sync(~0u, i > 3) + __popc(i);
  h[i] = __hfma(h[i], h[i + 1], h[i + 2]) + __float2half(t);
  atomicAdd(out, t);
  atomicCAS_system((int*)out, 1, 2);
  __threadfence_system();
  if (t == 5.f) printf("%f %d\n", t, i);
  out[i] = t + table[i & 3] + weights[i & 1][1] + names[i & 1][0] + object->f(i) + *record.p + dynamic[n];
}
