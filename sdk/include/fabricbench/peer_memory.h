#pragma once

// The same amount of device memory on every rank, each mapped by all ranks (CUDA IPC). It starts as zeros.
//
//   fabricbench::PeerMemory memory(rank, bytes);
//   float* mine = memory.mine<float>();
//   Peers<float> all = memory.peers<float>();   // all.of[r]: rank r's memory, as this rank's GPU sees it

#include <cuda_runtime.h>
#include <fabricbench/check.h>
#include <fabricbench/rank.h>

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace fabricbench {

constexpr int kMostRanks = 72;  // of one NVLink domain

// A pointer for each rank, small enough to be a kernel's parameter.
template <class T>
struct Peers {
  T* of[kMostRanks];
};

class PeerMemory {
 public:
  PeerMemory(const Rank& rank, size_t bytes) : rank_(rank), pointers_(static_cast<size_t>(rank.world())) {
    void* memory = nullptr;
    check_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
    check_cuda(cudaMemset(memory, 0, bytes), "cudaMemset");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    map(memory);
    owned_ = memory;
  }
  // Maps memory that the caller has and keeps: the begin of an allocation (cudaMalloc).
  PeerMemory(const Rank& rank, const void* memory) : rank_(rank), pointers_(static_cast<size_t>(rank.world())) {
    map(const_cast<void*>(memory));
  }
  // Memory is freed when no rank has it mapped any more.
  ~PeerMemory() {
    for (int peer = 0; peer < rank_.world(); ++peer) {
      if (peer != rank_.rank()) cudaIpcCloseMemHandle(pointers_[static_cast<size_t>(peer)]);
    }
    // While an exception is under way the other ranks are somewhere else.
    if (std::uncaught_exceptions() == 0) rank_.barrier();
    if (owned_) cudaFree(owned_);
  }
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  template <class T = void>
  T* mine(size_t offset = 0) const {
    return at<T>(rank_.rank(), offset);
  }
  template <class T = void>
  T* at(int peer, size_t offset = 0) const {
    return reinterpret_cast<T*>(static_cast<char*>(pointers_[static_cast<size_t>(peer)]) + offset);
  }
  template <class T>
  Peers<T> peers(size_t offset = 0) const {
    Peers<T> all{};
    for (int peer = 0; peer < rank_.world(); ++peer) all.of[peer] = at<T>(peer, offset);
    return all;
  }

 private:
  void map(void* memory) {
    cudaIpcMemHandle_t handle;
    check_cuda(cudaIpcGetMemHandle(&handle, memory), "cudaIpcGetMemHandle");
    const auto handles = rank_.all_gather(handle);
    for (int peer = 0; peer < rank_.world(); ++peer) {
      void*& pointer = pointers_[static_cast<size_t>(peer)];
      if (peer == rank_.rank()) {
        pointer = memory;
      } else {
        check_cuda(cudaIpcOpenMemHandle(&pointer, handles[static_cast<size_t>(peer)], cudaIpcMemLazyEnablePeerAccess),
                   "cudaIpcOpenMemHandle");
      }
    }
  }

  const Rank& rank_;
  std::vector<void*> pointers_;
  void* owned_ = nullptr;
};

}  // namespace fabricbench
