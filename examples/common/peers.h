// The buffers of all ranks, mapped into this process by IPC handles (07_ipc_neighbours.cu shows how, step by step).
#pragma once
#include <vector>

#include "bootstrap.h"
#include "check.h"

constexpr int kMostRanks = 72;

// A kernel's parameter: the same offset in each rank's buffer.
template <class T>
struct Peers {
  T* of[kMostRanks];
};

class PeerBuffers {
 public:
  // `mine` begins an allocation of cudaMalloc. Collective; also a barrier.
  PeerBuffers(Bootstrap& bootstrap, void* mine) : bootstrap_(bootstrap) {
    if (bootstrap.world > kMostRanks) fail("at most %d ranks", kMostRanks);
    cudaIpcMemHandle_t handle;
    CHECK(cudaIpcGetMemHandle(&handle, mine));
    const auto handles = bootstrap.all_gather(handle);
    for (int r = 0; r < bootstrap.world; ++r) {
      void* pointer = mine;
      if (r != bootstrap.rank) {
        CHECK(cudaIpcOpenMemHandle(&pointer, handles[static_cast<size_t>(r)], cudaIpcMemLazyEnablePeerAccess));
      }
      buffers_.push_back(static_cast<char*>(pointer));
    }
  }
  // Closes the mappings, then waits: after this no other rank has `mine` mapped, and it may be freed.
  ~PeerBuffers() {
    for (int r = 0; r < bootstrap_.world; ++r) {
      if (r != bootstrap_.rank) CHECK(cudaIpcCloseMemHandle(buffers_[static_cast<size_t>(r)]));
    }
    bootstrap_.barrier();
  }
  PeerBuffers(const PeerBuffers&) = delete;
  PeerBuffers& operator=(const PeerBuffers&) = delete;

  template <class T>
  Peers<T> at(size_t offset) const {
    Peers<T> peers{};
    for (size_t r = 0; r < buffers_.size(); ++r) peers.of[r] = reinterpret_cast<T*>(buffers_[r] + offset);
    return peers;
  }

 private:
  Bootstrap& bootstrap_;
  std::vector<char*> buffers_;
};
