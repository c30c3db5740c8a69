// A kernel and the host in turns through pinned memory: std::atomic on the host, fences and volatile on the device.
//
// flags: -std=c++20
#include <atomic>
#include <new>

#include "grown.h"

constexpr int kTurns = 5;
struct Mailbox {
  int asked, answered;
  int question, answer;
};

__global__ void ask(volatile Mailbox* box, int* out) {
  int sum = 0;
  for (int turn = 1; turn <= kTurns; ++turn) {
    box->question = turn * 10;
    __threadfence_system();
    box->asked = turn;
    while (box->answered != turn) continue;
    __threadfence_system();
    sum += box->answer;
  }
  *out = sum;
}

int main() {
  Mailbox* box = nullptr;
  CHECK(cudaHostAlloc(&box, sizeof(Mailbox), cudaHostAllocMapped));
  *box = {};
  int* out = zeroed<int>(1);
  ask<<<1, 1>>>(box, out);
  CHECK(cudaGetLastError());
  std::atomic_ref asked(box->asked), answered(box->answered);
  for (int turn = 1; turn <= kTurns; ++turn) {
    while (asked.load(std::memory_order_acquire) != turn) continue;
    box->answer = box->question + 1;
    answered.store(turn, std::memory_order_release);
  }
  CHECK(cudaDeviceSynchronize());
  expect(read(out, 1)[0], 10 * kTurns * (kTurns + 1) / 2 + kTurns, "sum");
  std::puts("OK questions to the host");
}
