#pragma once

// A multicast object: one range of addresses that maps memory of several devices. A store goes to all of
// them, a load reduces over all of them; only multimem instructions can do either.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace fb::mem {

struct Allocation;

struct Multicast {
  // Memory of one member, bound at `offset`.
  struct Piece {
    uint64_t offset = 0, size = 0;
    std::byte* host = nullptr;
    std::shared_ptr<Allocation> allocation;
  };
  struct Member {
    uint32_t device = 0;
    std::vector<Piece> pieces;  // do not overlap; by offset

    // The piece that holds the byte at `offset`; null where nothing is bound.
    const Piece* piece_at(uint64_t offset) const;
    // The bytes [offset, offset + bytes); null where they are not bound as a whole by one piece.
    std::byte* find(uint64_t offset, uint64_t bytes) const;
  };

  uint32_t id = 0;
  uint64_t size = 0;
  std::vector<Member> members;  // by device
};

}  // namespace fb::mem
