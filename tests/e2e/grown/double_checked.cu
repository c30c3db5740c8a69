// Double-checked initialisation by a lock of cuda::atomic_ref: the first block fills, the others wait or see it done.
//
// class: read without acquire
// also: published without release
// lines: write read
#include <cuda/atomic>

#include "grown.h"

constexpr int kBlocks = 6, kValues = 16;
enum : int { kEmpty, kBusy, kReady };
using State = cuda::atomic_ref<int, cuda::thread_scope_device>;
#ifdef MISTAKE
constexpr auto kLook = cuda::memory_order_relaxed;
#else
constexpr auto kLook = cuda::memory_order_acquire;
#endif

__device__ const int* table_of(int* table, int* state) {
  State s(*state);
  if (s.load(kLook) == kReady) return table;
  int expected = kEmpty;
  if (s.compare_exchange_strong(expected, kBusy, cuda::memory_order_acquire, cuda::memory_order_relaxed)) {
    for (int i = 0; i < kValues; ++i) table[i] = 3 * i;  // [write]
    s.store(kReady, cuda::memory_order_release);
    return table;
  }
  while (s.load(kLook) != kReady) continue;
  return table;
}

__global__ void use(int* table, int* state, int* out) {
  const int* values = table_of(table, state);
  int sum = 0;
  for (int i = 0; i < kValues; ++i) sum += values[i];  // [read]
  out[blockIdx.x] = sum;
}

int main() {
  int *table = zeroed<int>(kValues), *state = zeroed<int>(1), *out = zeroed<int>(kBlocks);
  use<<<kBlocks, 1>>>(table, state, out);
  CHECK(cudaDeviceSynchronize());
#ifndef MISTAKE
  for (const int sum : read(out, kBlocks)) expect(sum, 3 * kValues * (kValues - 1) / 2, "sum");
#endif
  std::puts("OK initialised once");
}
