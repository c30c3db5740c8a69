// Kernels that launch kernels: streams of blocks, of their own, in no order, behind the grid; templates, recursion;
// copies, fills and memory of the device; errors of threads. Compiled with -rdc=true.
#include "checks.h"

namespace tools {
template <class T, int kFactor>
__global__ void scale(T* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * kFactor;
}
}  // namespace tools

struct Pair {
  char tag;
  double value;
};

__global__ void add(int* data, int value) { data[blockIdx.x * blockDim.x + threadIdx.x] += value; }
__global__ void mixed(int* out, char a, double b, short c, Pair pair, float f) {
  out[0] = a + static_cast<int>(b) + c + pair.tag + static_cast<int>(pair.value) + static_cast<int>(f);
}
template <class T>
__global__ void deduced(T* out, T value) {
  *out += value;
}

// The arguments choose, converted as those of a call: some of the template's arguments are given, others deduced, others
// have default values; of two kernels of one name, one is declared only.
template <class To, class From, int kFactor = 2>
__global__ void convert(To* to, const From* from, int n);
__global__ void choose(int* out, int value);
__global__ void choose(int* out, int value, float more);
__global__ void choose(int* out, int value) {
  *out = value;
  if (value > 0) choose<<<1, 1>>>(out + 1, value, 2);
}
__global__ void choose(int* out, int value, float more) {
  *out = value + static_cast<int>(more);
  unsigned next = 0;
  choose<<<1, 1>>>(out + 1, next);
}
template <class... Values>
__global__ void sum_up(int* out, Values... values) {
  *out = (0 + ... + static_cast<int>(values));
}
__global__ void choosing(int* data) {
  double* const from = reinterpret_cast<double*>(data + 16);
  for (int i = 0; i < 4; ++i) from[i] = i + 0.5;
  convert<int><<<1, 4>>>(data, from, 4u);
  convert<int, double, 10><<<1, 4>>>(data + 4, from, 4);
  choose<<<1, 1>>>(data + 8, 5);
  sum_up<<<1, 1>>>(data + 12, 1, 2.5, 'a');
}
template <class To, class From, int kFactor>
__global__ void convert(To* to, const From* from, int n) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) to[i] = static_cast<To>(from[i] * kFactor);
}

// What the parent stored before is visible to its children; launches of a block are in order.
__global__ void parent(int* data) {
  data[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (threadIdx.x != 0) return;
  add<<<2, 16>>>(data, 100);
  tools::scale<int, 3><<<dim3(1), 32>>>(data, 32);
  Pair pair{1, 2.0};
  mixed<<<1, 1, 0, cudaStreamFireAndForget>>>(data + 40, 'a', 3.5, 7, pair, 1);
  deduced<<<1, 1>>>(data + 41, 5);
}

__device__ int depth_reached;
__global__ void recurse(int* out, int depth) {
  depth_reached = depth;
  out[depth] = depth;
  if (depth < 5) recurse<<<1, 1>>>(out, depth + 1);
}

__global__ void store_sum(const int* data, int n, int* sum) {
  int total = 0;
  for (int i = 0; i < n; ++i) total += data[i];
  *sum = total;
}
// The tail sees what all blocks of the grid and all that they have launched did.
__global__ void with_tail(int* data, int* sum) {
  add<<<1, 8, 0, cudaStreamFireAndForget>>>(data + 8 * blockIdx.x, 1);
  if (blockIdx.x == 0) {
    store_sum<<<1, 1, 0, cudaStreamTailLaunch>>>(data, 32, sum);
    deduced<<<1, 1, 0, cudaStreamTailLaunch>>>(sum, 1000);
  }
}

__global__ void with_streams(int* data, int* errors) {
  cudaStream_t first, second;
  errors[0] = cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  errors[1] = cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaEvent_t event;
  errors[2] = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaMemsetAsync(data, 0, 16 * sizeof(int), first);
  add<<<1, 16, 0, first>>>(data, 7);
  errors[3] = cudaEventRecord(event, first);
  errors[4] = cudaStreamWaitEvent(second, event, 0);
  cudaMemcpyAsync(data + 16, data, 16 * sizeof(int), cudaMemcpyDeviceToDevice, second);
  add<<<1, 16, 0, second>>>(data + 16, 1);
  cudaEventDestroy(event);
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
  int device = -1;
  errors[5] = cudaGetDevice(&device);
  errors[6] = device;
  int* block = nullptr;
  errors[7] = cudaMalloc(&block, 64);
  *block = 3;
  errors[8] = *block - 3;
  errors[9] = cudaFree(block);
  errors[10] = cudaGetLastError();
  add<<<1, 4096>>>(data, 1);  // more threads than a block has
  errors[11] = cudaPeekAtLastError();
  errors[12] = cudaGetLastError();
  errors[13] = cudaGetLastError();
}

// Every thread of several blocks launches.
__global__ void fan_out(int* data) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  add<<<1, 1, 0, cudaStreamFireAndForget>>>(data + i, i);
}

int main() {
  int* data = shared_array(128);
  parent<<<1, 32>>>(data);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 32; ++i) CHECK_EQ(data[i], (i + 100) * 3);
  CHECK_EQ(data[40], 'a' + 3 + 7 + 1 + 2 + 1);
  CHECK_EQ(data[41], 5);

  int* chosen = shared_array(32);
  choosing<<<1, 1>>>(chosen);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 4; ++i) {
    CHECK_EQ(chosen[i], 2 * i + 1);
    CHECK_EQ(chosen[4 + i], 10 * i + 5);
  }
  CHECK_EQ(chosen[8], 5);
  CHECK_EQ(chosen[9], 7);
  CHECK_EQ(chosen[10], 0);
  CHECK_EQ(chosen[12], 1 + 2 + 'a');

  int* levels = shared_array(8);
  recurse<<<1, 1>>>(levels, 0);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i <= 5; ++i) CHECK_EQ(levels[i], i);

  int* parts = shared_array(32);
  int* sum = shared_array(1);
  with_tail<<<4, 1>>>(parts, sum);
  deduced<<<1, 1>>>(sum, 1);  // the stream waits for everything
  CHECK(cudaDeviceSynchronize());
  CHECK_EQ(*sum, 1033);

  int* errors = shared_array(16);
  int* moved = shared_array(32);
  with_streams<<<1, 1>>>(moved, errors);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 11; ++i) CHECK_EQ(errors[i], 0);
  CHECK_EQ(errors[11], static_cast<int>(cudaErrorInvalidConfiguration));
  CHECK_EQ(errors[12], errors[11]);
  CHECK_EQ(errors[13], 0);
  for (int i = 0; i < 16; ++i) CHECK_EQ(moved[i], 7);
  for (int i = 16; i < 32; ++i) CHECK_EQ(moved[i], 8);

  int* each = shared_array(128);
  fan_out<<<4, 32>>>(each);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 128; ++i) CHECK_EQ(each[i], i);
  return finish();
}
