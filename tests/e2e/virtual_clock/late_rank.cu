// Rank 1 looks for rank 0 between sleeps. Rank 0 is late, and then waits for rank 1 before it first calls CUDA.
#include <cuda_runtime.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "../../../examples/common/bootstrap.h"

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main() {
  const timespec late{0, 300'000'000};
  if (std::string(std::getenv("RANK")) == "0") syscall(SYS_nanosleep, &late, nullptr);
  Bootstrap ranks;
  CHECK(cudaSetDevice(0));
  ranks.barrier();
  const double begin = now();
  usleep(250'000);
  std::printf("rank %d slept %.0f ms\n", ranks.rank, (now() - begin) * 1e3);
}
