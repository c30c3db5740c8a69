// A host that computes for longer than silence is taken for a deadlock, while the thread that runs callbacks waits.
#include <chrono>
#include <cstdio>

#include "check.h"

namespace {

void compute_for(std::chrono::milliseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace

int main() {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  int called = 0;
  CHECK(cudaLaunchHostFunc(stream, [](void* count) { ++*static_cast<int*>(count); }, &called));
  CHECK(cudaStreamSynchronize(stream));
  CHECK_TRUE(called == 1);
  compute_for(std::chrono::milliseconds(2500));
  CHECK(cudaLaunchHostFunc(stream, [](void* count) { ++*static_cast<int*>(count); }, &called));
  CHECK(cudaStreamSynchronize(stream));
  CHECK_TRUE(called == 2);
  std::puts(failures() == 0 ? "OK" : "FAILED");
  return failures() != 0;
}
