// A FIFO from device to host: a running kernel asks a host thread, the proxy, to do what a kernel can't.
//
// Teaches: how kernels start network transfers or copies by copy engines without ending: they write a request into
// pinned memory and a host thread that polls it acts. Here the proxy copies blocks of data from device 0 to the last
// device. Watch out: `pushed` is released by the device and acquired by the host, `done` the other way round. The
// device must not overwrite a slot that was not done yet (flow control), and waits for `done` before it trusts the
// copies. The proxy's stream is non-blocking: the default stream would wait for the very kernel that waits for it.
//
// Run: fabricbench exec --platform h100x8 --ranks 1 examples/16_device_to_host_fifo.cu
#include <cuda_runtime.h>

#include <cstdio>
#include <cuda/atomic>
#include <thread>
#include <vector>

#include "common/check.h"

constexpr unsigned int kSlots = 8, kRequests = 40;
constexpr size_t kBlockBytes = 3001;

struct Request {
  unsigned int from, to;  // numbers of blocks
};
// In pinned memory that both sides see. Counters never go back: slot i % kSlots holds request i.
struct Fifo {
  unsigned int pushed;
  alignas(64) unsigned int done;
  alignas(64) Request slots[kSlots];
};
using Counter = cuda::atomic_ref<unsigned int, cuda::thread_scope_system>;

__global__ void reverse_blocks(Fifo* fifo, char* source) {
  // All threads fill block i, then thread 0 has it sent to the mirrored position.
  for (unsigned int i = 0; i < kRequests; ++i) {
    for (size_t at = threadIdx.x; at < kBlockBytes; at += blockDim.x) {
      source[i * kBlockBytes + at] = static_cast<char>(i * 5 + at);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      while (i - Counter(fifo->done).load(cuda::memory_order_acquire) >= kSlots) continue;
      fifo->slots[i % kSlots] = Request{i, kRequests - 1 - i};
      Counter(fifo->pushed).store(i + 1, cuda::memory_order_release);
    }
  }
  if (threadIdx.x == 0) {
    while (Counter(fifo->done).load(cuda::memory_order_acquire) != kRequests) continue;
  }
}

void serve(Fifo* fifo, const char* source, char* target, int device) {
  CHECK(cudaSetDevice(device));
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (unsigned int i = 0; i < kRequests; ++i) {
    while (Counter(fifo->pushed).load(cuda::memory_order_acquire) <= i) std::this_thread::yield();
    const Request request = fifo->slots[i % kSlots];
    CHECK(cudaMemcpyAsync(target + request.to * kBlockBytes, source + request.from * kBlockBytes, kBlockBytes,
                          cudaMemcpyDefault, stream));
    CHECK(cudaStreamSynchronize(stream));
    Counter(fifo->done).store(i + 1, cuda::memory_order_release);
  }
  CHECK(cudaStreamDestroy(stream));
}

int main() {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  char *source = nullptr, *target = nullptr;
  CHECK(cudaSetDevice(devices - 1));
  CHECK(cudaMalloc(&target, kRequests * kBlockBytes));
  CHECK(cudaSetDevice(0));
  CHECK(cudaMalloc(&source, kRequests * kBlockBytes));

  Fifo *fifo = nullptr, *device_fifo = nullptr;
  CHECK(cudaHostAlloc(&fifo, sizeof(Fifo), cudaHostAllocMapped));
  *fifo = Fifo{};
  CHECK(cudaHostGetDevicePointer(&device_fifo, fifo, 0));

  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::thread proxy(serve, fifo, source, target, 0);
  reverse_blocks<<<1, 128, 0, stream>>>(device_fifo, source);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(stream));
  proxy.join();

  std::vector<char> host(kRequests * kBlockBytes);
  CHECK(cudaMemcpy(host.data(), target, host.size(), cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < kRequests; ++i) {
    for (size_t at = 0; at < kBlockBytes; ++at) {
      const char expected = static_cast<char>((kRequests - 1 - i) * 5 + at), got = host[i * kBlockBytes + at];
      if (got != expected) fail("block %zu, byte %zu is %d, expected %d", i, at, got, expected);
    }
  }
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFreeHost(fifo));
  CHECK(cudaFree(source));
  CHECK(cudaFree(target));
  std::printf("OK %u requests through a FIFO of %u slots\n", kRequests, kSlots);
}
