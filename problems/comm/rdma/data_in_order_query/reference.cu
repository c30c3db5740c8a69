#include <cuda_runtime.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <atomic>
#include <cstring>
#include <vector>

// [solution]
class Solution {
 public:
  // The question is about writes into this side, so every rank asks for the rank before it, and tells.
  Solution(const fabricbench::Rank& rank, Wire& wire) {
    const int mine = wire.query_qp_data_in_order(wire.from_before, IBV_WR_RDMA_WRITE, 0);
    const auto all = rank.all_gather(mine);
    next_in_order_ = all[static_cast<size_t>((rank.rank() + 1) % rank.world())] != 0;
  }

  // A slot is the message and, in its last 8 bytes, the number. That is the same for both protocols.
  void send(Wire& wire, uint64_t number, const uint32_t* message, uint64_t words) {
    const uint64_t offset = number % wire.slots * wire.slot_bytes, word = wire.slot_bytes - sizeof(uint64_t);
    const uint64_t full = number + 1;  // never what is in the slot: 0, or a smaller one
    slot_.resize(wire.slot_bytes);
    std::memcpy(slot_.data(), message, words * sizeof(uint32_t));
    std::memcpy(slot_.data() + word, &full, sizeof full);
    if (next_in_order_) {
      wire.write(wire.driver, offset, slot_.data(), wire.slot_bytes);
      return;
    }
    // The second write lands behind all of the first: RC promises it for any card.
    wire.write(wire.driver, offset, slot_.data(), word);
    wire.write(wire.driver, offset + word, slot_.data() + word, sizeof full);
  }

  void receive(Wire& wire, uint64_t number, uint32_t* message, uint64_t words) {
    char* const slot = wire.window + number % wire.slots * wire.slot_bytes;
    auto& word = *reinterpret_cast<uint64_t*>(slot + wire.slot_bytes - sizeof(uint64_t));
    // Acquire: the message is read behind the word.
    while (std::atomic_ref(word).load(std::memory_order_acquire) != number + 1) wire.idle(wire.driver);
    std::memcpy(message, slot, words * sizeof(uint32_t));
  }

 private:
  bool next_in_order_ = false;
  std::vector<char> slot_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, Wire& wire) {
//|     // TODO: find out what is promised
//|   }
//|   void send(Wire& wire, uint64_t number, const uint32_t* message, uint64_t words) {
//|     // TODO: write the message into the next rank's window
//|   }
//|   void receive(Wire& wire, uint64_t number, uint32_t* message, uint64_t words) {
//|     // TODO: wait for the message in this rank's window
//|   }
//| };
// [/solution]
