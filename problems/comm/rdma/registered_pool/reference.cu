#include <cuda_runtime.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <vector>

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank&, const Shared& shared)
      : bytes_(static_cast<size_t>(shared.bytes)), stride_(round_up(bytes_, static_cast<size_t>(shared.alignment))) {
    // Neither allocator promises the alignment: there is room to begin later.
    const auto alignment = static_cast<size_t>(shared.alignment), slots = static_cast<size_t>(shared.slots);
    const size_t room = slots * stride_ + alignment;
    check(cudaMallocHost(&arenas_[kHost].memory, room), "cudaMallocHost");
    check(cudaMalloc(&arenas_[kGpu].memory, room), "cudaMalloc");
    for (Arena& arena : arenas_) {
      arena.first = round_up(reinterpret_cast<uintptr_t>(arena.memory), alignment);
      // One region for all buffers of a kind, so that there is one key, and nothing to register later.
      arena.region.reset(fabricbench::check_verbs(
          ibv_reg_mr(shared.domain, arena.memory, room,
                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
          "ibv_reg_mr"));
      arena.is_live.resize(slots);
      for (size_t slot = slots; slot-- > 0;) arena.free.push_back(slot);
    }
  }
  ~Solution() {
    // Regions end before the memory that a card knows by them.
    for (Arena& arena : arenas_) arena.region.reset();
    cudaFreeHost(arenas_[kHost].memory);
    cudaFree(arenas_[kGpu].memory);
  }

  Buffer allocate(int kind) {
    Arena& arena = arenas_[kind];
    if (arena.free.empty()) return {};
    // A stack: what was used last is most likely still in caches, of the processor as of the card.
    const size_t slot = arena.free.back();
    arena.free.pop_back();
    arena.is_live[slot] = true;
    return buffer(arena, slot);
  }

  Buffer find(const void* address) {
    for (const Arena& arena : arenas_) {
      const size_t offset = reinterpret_cast<uintptr_t>(address) - arena.first, slot = offset / stride_;
      // Before the first buffer the offset wraps around, and is larger than all.
      if (slot < arena.is_live.size() && arena.is_live[slot] && offset % stride_ < bytes_) return buffer(arena, slot);
    }
    return {};
  }

  bool free(void* address) {
    for (Arena& arena : arenas_) {
      const size_t offset = reinterpret_cast<uintptr_t>(address) - arena.first, slot = offset / stride_;
      if (slot >= arena.is_live.size() || offset % stride_ != 0 || !arena.is_live[slot]) continue;
      arena.is_live[slot] = false;
      arena.free.push_back(slot);
      return true;
    }
    return false;
  }

 private:
  struct Arena {
    void* memory = nullptr;
    uintptr_t first = 0;  // address of the first buffer
    fabricbench::MemoryRegion region;
    std::vector<bool> is_live;
    std::vector<size_t> free;  // slots
  };

  static size_t round_up(size_t value, size_t step) { return (value + step - 1) / step * step; }
  static void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) throw std::runtime_error(what);
  }
  Buffer buffer(const Arena& arena, size_t slot) const {
    return {reinterpret_cast<void*>(arena.first + slot * stride_), arena.region->lkey, arena.region->rkey};
  }

  size_t bytes_, stride_;
  Arena arenas_[kKinds];
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Shared& shared) {
//|     // TODO: allocate and register
//|   }
//|   Buffer allocate(int kind) {
//|     // TODO: hand out a buffer
//|     return {};
//|   }
//|   Buffer find(const void* address) {
//|     // TODO: the buffer in which this address lies
//|     return {};
//|   }
//|   bool free(void* address) {
//|     // TODO: take it back
//|     return false;
//|   }
//| };
// [/solution]
