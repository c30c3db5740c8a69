#pragma once

// What a collective writes, from what its ranks have brought.
//
// The order of additions. Ring: the elements are cut into as many equal pieces as there are ranks (the last ones may be
// shorter); the sum of piece c begins with rank c + 1 and goes around to rank c. A reduction to a root, and a block of
// a reduce-scatter, end with the rank that gets it. Tree: from the last rank to rank 0, as the chain that NCCL's tree
// is on one node. Switch and kernels on windows: from rank 0 to the last.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/wire/messages.h"
#include "virtual_node/fabric/nccl_model.h"

namespace fb::machine {

// One rank's end of a collective. Null where the rank has no such buffer.
struct CollectiveEnd {
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  uint64_t scalar = 0;
};

struct CollectiveValues {
  wire::CollectiveKind kind{};
  wire::ElementType type{};
  wire::ReduceOp op{};
  fabric::NcclAlgorithm algorithm{};
  uint32_t root = 0;
  uint64_t count = 0;               // as the call says
  std::vector<CollectiveEnd> ends;  // by rank
};

// Pieces of work, each about so many bytes of a rank, to be done one after the other; the order of pieces does not
// matter to the result.
std::vector<std::function<void()>> pieces_of(CollectiveValues values, uint64_t piece_bytes);

}  // namespace fb::machine
