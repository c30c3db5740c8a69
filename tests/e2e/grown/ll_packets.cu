// LL: 4 bytes of data and 4 of flag in one 8-byte volatile store, no fence.
//
// class: published without release
// lines: write read
#include "grown.h"

constexpr int kCount = 96;

__global__ void send(unsigned int* data, unsigned long long* packets) {
  const unsigned int i = threadIdx.x;
#ifdef MISTAKE
  data[i] = i + 5;  // [write]
  *static_cast<volatile unsigned long long*>(packets + i) = 1ull << 32;
#else
  *static_cast<volatile unsigned long long*>(packets + i) = 1ull << 32 | (i + 5);
#endif
}

__global__ void receive(const unsigned int* data, const unsigned long long* packets, unsigned int* out) {
  const unsigned int i = threadIdx.x;
  unsigned long long packet;
  do {
    packet = *static_cast<const volatile unsigned long long*>(packets + i);
  } while (packet >> 32 != 1);
#ifdef MISTAKE
  out[i] = data[i];  // [read]
#else
  out[i] = static_cast<unsigned int>(packet);
#endif
}

int main() {
  CHECK(cudaSetDevice(1));
  CHECK(cudaDeviceEnablePeerAccess(0, 0));
  auto* out = zeroed<unsigned int>(kCount);
  CHECK(cudaSetDevice(0));
  CHECK(cudaDeviceEnablePeerAccess(1, 0));
  auto* data = zeroed<unsigned int>(kCount);
  auto* packets = zeroed<unsigned long long>(kCount);
  send<<<1, kCount>>>(data, packets);
  CHECK(cudaSetDevice(1));
  receive<<<1, kCount>>>(data, packets, out);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaSetDevice(0));
  CHECK(cudaDeviceSynchronize());
#ifndef MISTAKE
  const auto got = read(out, kCount);
  for (int i = 0; i < kCount; ++i) expect(static_cast<int>(got[i]), i + 5, "out");
#endif
  std::puts("OK packets of data and flag");
}
