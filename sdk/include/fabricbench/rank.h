#pragma once

// The rank of this process among those of a problem, and how ranks exchange data during set-up. For constructors
// and destructors of a solution: in run() every call of these throws.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

// Answers name __half and __nv_bfloat16 without their headers. The short names (half, half2) need the include.
#if defined(__CUDA__)
#define FABRICBENCH_NO_SHORT_NAMES
#include <cuda_bf16.h>
#undef FABRICBENCH_NO_SHORT_NAMES
#endif

namespace fabricbench {

// What the process that loads a solution does for it. Zero is success.
struct RankServices {
  void* context;
  int (*all_gather)(void* context, const void* mine, size_t bytes, void* all);
  int (*share_descriptor)(void* context, int root, int descriptor, int* shared);
};

class Rank {
 public:
  Rank(int rank, int world, int device, const RankServices& services)
      : rank_(rank), world_(world), device_(device), services_(services) {}

  int rank() const { return rank_; }
  int world() const { return world_; }
  // The GPU of this rank; it is current when the solution is constructed.
  int device() const { return device_; }

  // `all` receives `bytes` bytes of each rank, in the order of ranks. Collective, like everything below: all ranks call
  // it in the same order.
  void all_gather(const void* mine, size_t bytes, void* all) const {
    check(services_.all_gather(services_.context, mine, bytes, all), "all_gather");
  }
  template <class T>
  std::vector<T> all_gather(const T& mine) const {
    std::vector<T> all(static_cast<size_t>(world_));
    all_gather(&mine, sizeof(T), all.data());
    return all;
  }

  // Returns when all ranks have called it.
  void barrier() const { all_gather(char{}); }

  // `root` gives a descriptor from cuMemExportToShareableHandle, the others -1; each gets one that stands for the same
  // memory. The caller closes what it gets.
  int share_descriptor(int root, int descriptor) const {
    int shared = -1;
    check(services_.share_descriptor(services_.context, root, descriptor, &shared), "share_descriptor");
    return shared;
  }

 private:
  static void check(int status, const char* what) {
    if (status != 0) {
      throw std::runtime_error(std::string(what) + (status == 1 ? " is not possible in run()" : " failed"));
    }
  }

  int rank_, world_, device_;
  RankServices services_;
};

}  // namespace fabricbench
