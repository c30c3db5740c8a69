#pragma once

// What cards may read and write: the regions of work requests, and what peers name by a key.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "virtual_node/rdma/object_table.h"
#include "virtual_node/rdma/surroundings.h"

namespace fb::rdma {

class CardMemory {
 public:
  CardMemory(ObjectTable& objects, Surroundings& surroundings) : objects_(objects), around_(surroundings) {}

  bool gather(const QueuePair& pair, const SendWork& work, std::vector<std::byte>& into);
  bool scatter(const QueuePair& pair, std::span<const Piece> pieces, std::span<const std::byte> from,
               const Touch& touch);
  // Where in the process that is what a peer of `pair` names; false: it may not have it.
  bool reach(const QueuePair& pair, const Message& message, uint32_t right, uint64_t& at, bool& relaxed) const;

  Status bind(const QueuePair& pair, const Bind& bind);
  Status invalidate(const QueuePair& pair, uint32_t key);
  static void unbind(Window& window);

  // Whether the first piece, or what a message will be written to, is memory of a GPU.
  bool is_on_device(const QueuePair& pair, std::span<const Piece> pieces) const;
  bool lands_on_device(const Message& message) const;

 private:
  // Whether the pieces are regions of the pair's domain, with these rights.
  bool are_covered(const QueuePair& pair, std::span<const Piece> pieces, uint32_t rights) const;

  ObjectTable& objects_;
  Surroundings& around_;
};

}  // namespace fb::rdma
