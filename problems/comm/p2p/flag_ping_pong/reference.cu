#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
// A message is one 64-bit word, the token below its number, and such a word is stored and loaded as a whole: a load that
// returns the number returns the token. So there is nothing to put in order, and no fence on the way; relaxed is enough.
using Word = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;

// One word on each side will do: a rank sends its next message only when it has the answer to the one before, and the
// partner had read that one before it answered. Words are in the memory of the rank that waits for them; a store
// crosses the link once, where polling over the link would go there and back.
struct Side {
  uint64_t* mine;
  uint64_t* theirs;

  __device__ void send(uint32_t token, uint32_t number) const {
    Word(*theirs).store(uint64_t{number} << 32 | token, cuda::memory_order_relaxed);
  }

  __device__ uint32_t receive(uint32_t number) const {
    uint64_t word;
    do {
      word = Word(*mine).load(cuda::memory_order_relaxed);
    } while (word >> 32 != number);
    return static_cast<uint32_t>(word);
  }
};

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, int partner) : partner_(partner), words_(rank, sizeof(uint64_t)) {}

  Side side() const { return {words_.mine<uint64_t>(), words_.at<uint64_t>(partner_)}; }

 private:
  int partner_;
  fabricbench::PeerMemory words_;  // zero at first: no message has that number
};
// [template]
//| struct Side {
//|   // TODO: what the two functions need
//|
//|   __device__ void send(uint32_t token, uint32_t number) const {
//|     // TODO
//|   }
//|   __device__ uint32_t receive(uint32_t number) const {
//|     // TODO
//|     return 0;
//|   }
//| };
//|
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, int partner) {
//|     // TODO: set up
//|   }
//|   Side side() const { return {}; }
//| };
// [/solution]
