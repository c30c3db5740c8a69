// Two ranks with a word each, mapped into the other: rank 0 waits in a kernel for what rank 1 is to write.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>

#include "../../../../examples/common/bootstrap.h"
#include "../../../../examples/common/check.h"
#include "../../../../examples/common/flags.h"
#include "../../../../examples/common/peers.h"

__global__ void wait_for_word(unsigned int* word) { wait_flag(word, 1); }

// The line from which the test takes the time.
inline void begin(int rank) {
  std::printf("begin rank %d\n", rank);
  std::fflush(stdout);
}

inline unsigned int* zeroed_word() {
  unsigned int* word = nullptr;
  CHECK(cudaMalloc(&word, sizeof *word));
  CHECK(cudaMemset(word, 0, sizeof *word));
  CHECK(cudaDeviceSynchronize());
  return word;
}
