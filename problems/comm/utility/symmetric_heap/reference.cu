#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <iterator>
#include <map>
#include <vector>

// [solution]
class Solution {
 public:
  // One allocation for each rank, mapped by all others once and for all: what comes later is arithmetic.
  Solution(const fabricbench::Rank& rank, int64_t bytes) : rank_(rank), heaps_(static_cast<size_t>(rank.world())) {
    using fabricbench::check_cuda;
    void* mine = nullptr;
    check_cuda(cudaMalloc(&mine, static_cast<size_t>(bytes)), "cudaMalloc");
    cudaIpcMemHandle_t handle;
    check_cuda(cudaIpcGetMemHandle(&handle, mine), "cudaIpcGetMemHandle");
    const auto handles = rank.all_gather(handle);
    for (int peer = 0; peer < rank.world(); ++peer) {
      void* heap = mine;
      if (peer != rank.rank()) {
        check_cuda(cudaIpcOpenMemHandle(&heap, handles[static_cast<size_t>(peer)], cudaIpcMemLazyEnablePeerAccess),
                   "cudaIpcOpenMemHandle");
      }
      heaps_[static_cast<size_t>(peer)] = static_cast<char*>(heap);
    }
    gaps_[0] = bytes;
  }
  ~Solution() {
    for (int peer = 0; peer < rank_.world(); ++peer) {
      if (peer != rank_.rank()) cudaIpcCloseMemHandle(heap_of(peer));
    }
    rank_.barrier();  // no rank has my heap mapped any more
    cudaFree(heap_of(rank_.rank()));
  }
  Solution(const Solution&) = delete;
  Solution& operator=(const Solution&) = delete;

  // The smallest gap in which the block fits, the first of several. This depends on offsets and sizes alone, which are
  // the same on all ranks: no address, no time, no order of hashing.
  int64_t allocate(int64_t bytes, int64_t alignment) {
    auto best = gaps_.end();
    for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
      const bool fits = align(gap->first, alignment) + bytes <= gap->first + gap->second;
      if (fits && (best == gaps_.end() || gap->second < best->second)) best = gap;
    }
    if (best == gaps_.end()) return -1;
    const auto [begin, size] = *best;
    const int64_t offset = align(begin, alignment), end = offset + bytes;
    gaps_.erase(best);
    if (begin < offset) gaps_[begin] = offset - begin;
    if (end < begin + size) gaps_[end] = begin + size - end;
    blocks_[offset] = bytes;
    return offset;
  }

  // A free block joins the gaps at both of its ends.
  void free(int64_t offset) {
    const auto block = blocks_.find(offset);
    int64_t begin = offset, end = offset + block->second;
    blocks_.erase(block);
    auto next = gaps_.lower_bound(begin);
    if (next != gaps_.end() && next->first == end) {
      end += next->second;
      next = gaps_.erase(next);
    }
    if (next != gaps_.begin()) {
      const auto last = std::prev(next);
      if (last->first + last->second == begin) {
        begin = last->first;
        gaps_.erase(last);
      }
    }
    gaps_[begin] = end - begin;
  }

  void* address(int rank, int64_t offset) const { return heap_of(rank) + offset; }

 private:
  // Heaps are aligned to 256 bytes, as all memory of cudaMalloc, and IPC keeps that: aligned offsets are aligned
  // addresses.
  static int64_t align(int64_t offset, int64_t alignment) { return (offset + alignment - 1) / alignment * alignment; }
  char* heap_of(int rank) const { return heaps_[static_cast<size_t>(rank)]; }

  const fabricbench::Rank& rank_;
  std::vector<char*> heaps_;
  std::map<int64_t, int64_t> gaps_, blocks_;  // sizes by offset
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, int64_t bytes) {
//|     // TODO: allocate, exchange, map
//|   }
//|   int64_t allocate(int64_t bytes, int64_t alignment) {
//|     // TODO: find room for a block
//|     return -1;
//|   }
//|   void free(int64_t offset) {
//|     // TODO: give the block back
//|   }
//|   void* address(int rank, int64_t offset) {
//|     // TODO: where the place is in the heap of `rank`
//|     return nullptr;
//|   }
//| };
// [/solution]
