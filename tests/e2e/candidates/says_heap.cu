// problem: symmetric_heap
// expect: wrong
// mode: quick
// seconds: 30
// explains: the allocator | neighbouring free blocks must have been joined
// about: A heap that uses no free block again.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

// [solution]
// Gives out the heap from front to back and begins anew when all is free.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, int64_t bytes) : bytes_(bytes), memory_(rank, static_cast<size_t>(bytes)) {}
  int64_t allocate(int64_t bytes, int64_t alignment) {
    const int64_t at = (top_ + alignment - 1) / alignment * alignment;
    if (at + bytes > bytes_) return -1;
    top_ = at + bytes;
    ++used_;
    return at;
  }
  void free(int64_t) {
    if (--used_ == 0) top_ = 0;
  }
  void* address(int rank, int64_t offset) { return memory_.at<char>(rank, offset); }

 private:
  int64_t bytes_, top_ = 0, used_ = 0;
  fabricbench::PeerMemory memory_;
};
// [/solution]
