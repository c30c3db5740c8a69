// [solution]
#include <cstdlib>
#include <map>

// Buffers are nodes of a list by address and of a chain of free ones. Host memory is plain memory: a card takes what is
// registered, pinned by CUDA or not.
class Solution {
 public:
  Solution(const fabricbench::Rank&, const Shared& shared) : bytes_(static_cast<uintptr_t>(shared.bytes)) {
    const auto alignment = static_cast<uintptr_t>(shared.alignment);
    const uintptr_t stride = (bytes_ + alignment - 1) & ~(alignment - 1);
    const size_t room = stride * static_cast<size_t>(shared.slots);
    memory_[kHost] = std::aligned_alloc(alignment, room);
    if (memory_[kHost] == nullptr || cudaMalloc(&memory_[kGpu], room + alignment) != cudaSuccess)
      throw std::runtime_error("no memory");
    for (int kind = 0; kind < kKinds; ++kind) {
      const auto first = (reinterpret_cast<uintptr_t>(memory_[kind]) + alignment - 1) & ~(alignment - 1);
      regions_[kind].reset(fabricbench::check_verbs(ibv_reg_mr(shared.domain, reinterpret_cast<void*>(first), room,
                                                               IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
                                                    "ibv_reg_mr"));
      for (int64_t slot = 0; slot < shared.slots; ++slot) {
        Node& node = nodes_[first + static_cast<uintptr_t>(slot) * stride];
        node = {kind, false, first_free_[kind]};
        first_free_[kind] = first + static_cast<uintptr_t>(slot) * stride;
      }
    }
  }
  ~Solution() {
    for (auto& region : regions_) region.reset();
    std::free(memory_[kHost]);
    cudaFree(memory_[kGpu]);
  }

  Buffer allocate(int kind) {
    const uintptr_t address = first_free_[kind];
    if (address == 0) return {};
    Node& node = nodes_[address];
    first_free_[kind] = node.next;
    node.is_live = true;
    return buffer(address, kind);
  }

  // The last buffer that begins at the address or before it.
  Buffer find(const void* pointer) {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    auto at = nodes_.upper_bound(address);
    if (at == nodes_.begin()) return {};
    --at;
    const bool is_inside = at->second.is_live && address < at->first + bytes_;
    return is_inside ? buffer(at->first, at->second.kind) : Buffer{};
  }

  bool free(void* pointer) {
    const auto at = nodes_.find(reinterpret_cast<uintptr_t>(pointer));
    if (at == nodes_.end() || !at->second.is_live) return false;
    at->second.is_live = false;
    at->second.next = first_free_[at->second.kind];
    first_free_[at->second.kind] = at->first;
    return true;
  }

 private:
  struct Node {
    int kind;
    bool is_live;
    uintptr_t next;  // address of the next free buffer; 0: none
  };

  Buffer buffer(uintptr_t address, int kind) const {
    return {reinterpret_cast<void*>(address), regions_[kind]->lkey, regions_[kind]->rkey};
  }

  uintptr_t bytes_;
  void* memory_[kKinds] = {};
  fabricbench::MemoryRegion regions_[kKinds];
  std::map<uintptr_t, Node> nodes_;
  uintptr_t first_free_[kKinds] = {};
};
// [/solution]
