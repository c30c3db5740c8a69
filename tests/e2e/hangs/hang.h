// What the hangs share: words of memory that kernels wait for, of one process or of several ranks.
#pragma once
#include <cuda_runtime.h>
#include <unistd.h>

#include "../../../examples/common/bootstrap.h"
#include "../../../examples/common/check.h"
#include "../../../examples/common/peers.h"

using Word = unsigned int;

// Strong accesses; their instructions belong to the line of the call.
#define LOAD(word) (*static_cast<volatile Word*>(word))
#define STORE(word, value) (*static_cast<volatile Word*>(word) = (value))

// Zeroed words of a device.
inline Word* make_words(int device, size_t count = 32) {
  CHECK(cudaSetDevice(device));
  Word* words = nullptr;
  CHECK(cudaMalloc(&words, count * sizeof(Word)));
  CHECK(cudaMemset(words, 0, count * sizeof(Word)));
  CHECK(cudaDeviceSynchronize());
  return words;
}

// Each device of the process may touch the other's memory.
inline void connect_two_devices() {
  for (int d = 0; d < 2; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaDeviceEnablePeerAccess(1 - d, 0));
  }
}

inline cudaStream_t make_stream() {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

inline void wait_for_devices(int count) {
  for (int d = 0; d < count; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaDeviceSynchronize());
  }
}
