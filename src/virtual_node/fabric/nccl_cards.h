#pragma once

// What NCCL gives to network cards: which card of a node sends to which one of another, and how much. The GPUs of a
// node have a card each (rails), or share them evenly.

#include <cstdint>
#include <span>
#include <vector>

#include "virtual_node/fabric/nccl_model.h"

namespace fb::fabric {

// A message or collective uses this path for a part of NcclChoice::card_bytes.
struct CardEdge {
  uint32_t from = 0, to = 0;  // Network's numbers
  double share = 1;
};

// `devices`: by rank; of a message the sender's and the receiver's. Empty: all are on one node.
std::vector<CardEdge> card_edges(const platform::Platform& platform, NcclOp op, NcclAlgorithm algorithm,
                                 std::span<const uint32_t> devices, uint32_t root);

// The card that is nearest to a device.
uint32_t card_of(const platform::Platform& platform, uint32_t device);

}  // namespace fb::fabric
