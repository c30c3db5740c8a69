// The kernel language: indices in three dimensions, memory spaces, device functions, templates and lambdas.

__constant__ int weights[4] = {1, 10, 100, 1000};
__device__ int device_bias = 5;

template <class F>
__device__ int apply(F f, int x) {
  return f(x);
}
static __device__ __noinline__ int not_inlined(int x) { return 3 * x + 1; }
static __host__ __device__ __forceinline__ int both_sides(int x) { return x ^ 0x55; }

// run: indices grid=2,3,2 block=4,2,2 shared=0
// in:  i32[1] = const 7
// out: i32[192]
extern "C" __global__ void __launch_bounds__(16) indices(const int* in, int* out, int n) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const dim3 size = blockDim;
  const uint3 index = threadIdx;
  out[block * (size.x * size.y * size.z) + thread] =
      int(index.x + 10 * index.y + 100 * index.z + 1000 * blockIdx.x + 10000 * blockIdx.y + 100000 * blockIdx.z) +
      in[n - 1];
}
extern "C" void expect_indices(const int* in, int* out, int n) {
  for (int block = 0; block < 12; ++block) {
    for (int thread = 0; thread < 16; ++thread) {
      out[block * 16 + thread] = thread % 4 + 10 * (thread / 4 % 2) + 100 * (thread / 8) + 1000 * (block % 2) +
                                 10000 * (block / 2 % 3) + 100000 * (block / 6) + in[n - 1];
    }
  }
}

// run: memory_spaces grid=1 block=64 shared=256
// in:  i32[64] = iota 1 3
// out: i32[64]
extern "C" __global__ void memory_spaces(const int* __restrict__ in, int* __restrict__ out, int n) {
  extern __shared__ int dynamic_part[];
  __shared__ int static_part[64];
  const int i = int(threadIdx.x);
  int local[4];
  for (int k = 0; k < 4; ++k) local[k] = in[(i + k) % n] * weights[k];
  static_part[i] = local[i % 4];
  dynamic_part[i] = both_sides(in[i]) + device_bias;
  __syncthreads();
  const int bias = 2;
  out[i] =
      apply([=](int x) { return not_inlined(x) + bias; }, static_part[63 - i]) + dynamic_part[(i + 1) % n] + warpSize;
}
extern "C" void expect_memory_spaces(const int* in, int* out, int n) {
  const int w[] = {1, 10, 100, 1000};
  for (int i = 0; i < n; ++i) {
    const int j = 63 - i;
    const int fixed = in[(j + j % 4) % n] * w[j % 4];
    out[i] = 3 * fixed + 1 + 2 + both_sides(in[(i + 1) % n]) + 5 + 32;
  }
}

// run: grid_stride grid=3 block=32 shared=0
// in:  i32[1000] = random 3
// out: i32[1000]
extern "C" __global__ void grid_stride(const int* in, int* out, int n) {
  for (int i = int(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += int(gridDim.x * blockDim.x)) {
    if (in[i] & 1) {
      int steps = 0;
      for (unsigned x = unsigned(in[i]) & 0xff; x > 1; x = x % 2 ? 3 * x + 1 : x / 2) ++steps;
      out[i] = steps;
    } else {
      out[i] = in[i] / 3;
    }
  }
}
extern "C" void expect_grid_stride(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) {
    int steps = 0;
    for (unsigned x = unsigned(in[i]) & 0xff; x > 1; x = x % 2 ? 3 * x + 1 : x / 2) ++steps;
    out[i] = in[i] & 1 ? steps : in[i] / 3;
  }
}

// run: parameter_in_place grid=1 block=4 shared=0
// in:  i32[4] = iota 10
// out: i32[8]
// expect: list 14 15 16 17 4 4 4 4
extern "C" __global__ void parameter_in_place(const int* in, int* out, const __grid_constant__ int n) {
  const int* address = &n;
  out[threadIdx.x] = in[threadIdx.x] + *address;
  int value;
  asm volatile("ld.u32 %0, [%1];" : "=r"(value) : "l"(address));
  out[n + threadIdx.x] = value;
}
