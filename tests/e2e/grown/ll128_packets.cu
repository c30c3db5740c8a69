// LL128: a warp stores 128-byte lines with 16-byte volatile stores; the last 8 bytes of a line are its flag, and the
// lanes of a line tell each other by a vote that the flag has come. A line of a warp is one transaction.
//
// class: published without release
// also: read without acquire, unordered
// lines: write read
#include "grown.h"

constexpr int kLines = 8, kLanes = 8;  // lanes of a line
struct alignas(16) Pair {
  unsigned long long x, y;
};

__device__ void store(Pair* to, Pair value) {
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(value.x), "l"(value.y) : "memory");
}
__device__ Pair load(const Pair* from) {
  Pair value;
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(value.x), "=l"(value.y) : "l"(from) : "memory");
  return value;
}

__global__ void send(Pair* lines, unsigned long long* beside) {
  const unsigned int t = threadIdx.x;
  const bool has_flag = t % kLanes == kLanes - 1;
#ifdef MISTAKE
  beside[t] = t;  // [write]
#endif
  store(lines + t, {t + 1, has_flag ? 1 : t + 2});
}

__global__ void receive(const Pair* lines, const unsigned long long* beside, unsigned long long* out) {
  const unsigned int t = threadIdx.x;
  const bool has_flag = t % kLanes == kLanes - 1;
  Pair value;
  bool missing;
  do {
    value = load(lines + t);
    missing = has_flag && value.y != 1;
  } while (__any_sync(0xFFFFFFFF, missing));
  value = load(lines + t);  // a lane may have been early: it was the flag's lane that has waited
  out[2 * t] = value.x;
  out[2 * t + 1] = value.y;
#ifdef MISTAKE
  out[2 * t] = beside[t];  // [read]
#endif
}

int main() {
  constexpr int kThreads = kLines * kLanes;
  CHECK(cudaSetDevice(1));
  CHECK(cudaDeviceEnablePeerAccess(0, 0));
  auto* out = zeroed<unsigned long long>(2 * kThreads);
  CHECK(cudaSetDevice(0));
  auto* lines = zeroed<Pair>(kThreads);
  auto* beside = zeroed<unsigned long long>(kThreads);
  send<<<1, kThreads>>>(lines, beside);
  CHECK(cudaSetDevice(1));
  receive<<<1, kThreads>>>(lines, beside, out);
  CHECK(cudaDeviceSynchronize());
#ifndef MISTAKE
  const auto got = read(out, 2 * kThreads);
  for (int t = 0; t < kThreads; ++t) {
    expect(static_cast<long long>(got[2 * t]), t + 1, "the first half of a pair");
    expect(static_cast<long long>(got[2 * t + 1]), t % kLanes == kLanes - 1 ? 1 : t + 2, "the second half of a pair");
  }
#endif
  CHECK(cudaSetDevice(0));
  CHECK(cudaDeviceSynchronize());
  std::puts("OK lines of 128 bytes");
}
