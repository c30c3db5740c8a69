// A ring of slots between two GPUs, with the counters of a send and receive library: `tail` is posted by the sender
// behind a fence, `head` by the receiver when it has read, both through volatile pointers.
//
// class: published without release
// lines: write read
#include "grown.h"

constexpr int kSlots = 2, kSteps = 6, kThreads = 64;
struct Connection {
  unsigned long long tail, head;
  int slots[kSlots][kThreads];
};

__device__ void post(unsigned long long* counter, unsigned long long value) {
  asm volatile("st.volatile.global.u64 [%0], %1;" ::"l"(counter), "l"(value) : "memory");
}
__device__ unsigned long long poll(const unsigned long long* counter) {
  unsigned long long value;
  asm volatile("ld.volatile.global.u64 %0, [%1];" : "=l"(value) : "l"(counter) : "memory");
  return value;
}

__global__ void send(Connection* c) {
  for (unsigned long long step = 0; step < kSteps; ++step) {
    if (threadIdx.x == 0) {
      while (step - poll(&c->head) >= kSlots) continue;
      __threadfence_system();
    }
    __syncthreads();
    c->slots[step % kSlots][threadIdx.x] = static_cast<int>(100 * step + threadIdx.x);  // [write]
    __syncthreads();
    if (threadIdx.x == 0) {
#ifndef MISTAKE
      __threadfence_system();
#endif
      post(&c->tail, step + 1);
    }
  }
}

__global__ void receive(Connection* c, int* out) {
  for (unsigned long long step = 0; step < kSteps; ++step) {
    if (threadIdx.x == 0) {
      while (poll(&c->tail) <= step) continue;
      __threadfence_system();
    }
    __syncthreads();
    out[step * kThreads + threadIdx.x] = c->slots[step % kSlots][threadIdx.x];  // [read]
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence_system();
      post(&c->head, step + 1);
    }
  }
}

int main() {
  CHECK(cudaSetDevice(1));
  CHECK(cudaDeviceEnablePeerAccess(0, 0));
  int* out = zeroed<int>(kSteps * kThreads);
  CHECK(cudaSetDevice(0));
  auto* connection = zeroed<Connection>(1);
  send<<<1, kThreads>>>(connection);
  CHECK(cudaSetDevice(1));
  receive<<<1, kThreads>>>(connection, out);
  CHECK(cudaDeviceSynchronize());
#ifndef MISTAKE
  const auto got = read(out, kSteps * kThreads);
  for (int i = 0; i < kSteps * kThreads; ++i) expect(got[i], i / kThreads * 100 + i % kThreads, "out");
#endif
  CHECK(cudaSetDevice(0));
  CHECK(cudaDeviceSynchronize());
  std::puts("OK slots with counters");
}
