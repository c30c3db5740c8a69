// --default-stream per-thread: the default stream of a thread waits for no other thread's.
#include <atomic>
#include <thread>

#include "checks.h"

__global__ void wait_for(volatile int* flag, int* seen) {
  while (*flag == 0) {
  }
  *seen = 1;
}
__global__ void raise_flag(int* flag) {
  *flag = 1;
  __threadfence_system();
}

int main() {
  // With one default stream the second kernel would wait for the first, which waits for it.
  int* flag = shared_array(2);
  std::thread waiter([&] {
    wait_for<<<1, 1>>>(flag, flag + 1);
    CHECK(cudaStreamSynchronize(0));
  });
  std::thread raiser([&] {
    raise_flag<<<1, 1>>>(flag);
    CHECK(cudaStreamSynchronize(nullptr));
  });
  waiter.join();
  raiser.join();
  CHECK_EQ(flag[1], 1);

  // Copies and fills, too.
  int* memory = nullptr;
  CHECK(cudaMalloc(&memory, 64));
  CHECK(cudaMemsetAsync(memory, 1, 64));
  int host[16] = {};
  CHECK(cudaMemcpyAsync(host, memory, 64, cudaMemcpyDeviceToHost));
  CHECK(cudaStreamSynchronize(cudaStreamPerThread));
  CHECK_EQ(host[7], 0x01010101);
  CHECK(cudaMemcpy(host, memory, 64, cudaMemcpyDeviceToHost));
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(begin));
  raise_flag<<<1, 1>>>(flag);
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
  return finish();
}
