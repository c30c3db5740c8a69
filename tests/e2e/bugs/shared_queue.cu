// Several warps submit to one queue pair without taking turns.
//
// Shipped: DeepEP before pull request 181 (dispatch timed out: "concurrent submissions of qp should be forbidden"). A
// queue of work requests has one producer index. Two warps that read it, write their request and store the index plus
// one lose a request. Here the queue is in the memory of GPU 1, as a NIC's would be, and the warps run on GPU 0.
// Repaired: the index is taken by an atomic, so that each warp has a slot of its own.
//
// class: non-atomic update
// also: unordered write/write
// lines: take
#include "gpus.h"

constexpr int kWarps = 8;

struct Queue {
  unsigned int head;
  unsigned int requests[kWarps];
};

__global__ void submit(Queue* queue) {
  if (threadIdx.x != 0) return;
#ifdef REPAIRED
  const unsigned int slot = atomicAdd(&queue->head, 1);
#else
  const unsigned int slot = queue->head++;  // [take]
#endif
  queue->requests[slot] = 1 + blockIdx.x;  // of this block's warp; also a race where two have taken the same slot
}

int main() {
  Gpus gpus;
  const auto queues = gpus.array<Queue>(1);
  Queue* const queue = queues.of[1];
  CHECK(cudaSetDevice(0));
  submit<<<kWarps, 32, 0, gpus.stream(0)>>>(queue);
  CHECK(cudaGetLastError());
  gpus.wait();
  const Queue result = gpus.read(1, queue, 1)[0];
  if (result.head != kWarps) fail("%u of %d requests are queued", result.head, kWarps);
  unsigned int sum = 0;
  for (unsigned int request : result.requests) sum += request;
  if (sum != kWarps * (kWarps + 1) / 2) fail("requests were lost or are twice in the queue");
  std::printf("OK %d requests are queued\n", kWarps);
}
