#pragma once

// What shadow memory records of an access: agent, epoch, instruction, and how memory was accessed. Sixteen bytes.

#include <bit>
#include <cstdint>

#include "virtual_node/race/clocks/clock.h"
#include "virtual_node/simt/listener.h"
#include "virtual_node/simt/mask.h"

namespace fb::race {

using simt::AccessKind;
using simt::acquires;
using simt::each_lane;
using simt::is_strong;
using simt::MemoryOrder;
using simt::Proxy;
using simt::releases;
using simt::Scope;

using Site = uint32_t;  // an instruction of a program: see Agents

// ShadowCell::spread of an access by one lane, and of one by all lanes to the same bytes.
inline constexpr uint32_t kOneLane = 6, kEveryLane = 7;

// ShadowCell::element of a network card's access: any of its words may be a flag, of whatever size. `whole` is its size
// where that is one word, else this as well.
inline constexpr uint32_t kAnyWord = 7;

struct ShadowCell {
  BlockId block = 0;  // 0: none
  Epoch epoch = 0;
  Site site = 0;
  uint32_t warp : 6 = 0;     // in its block
  uint32_t lane : 5 = 0;     // of byte 0 of the line, or the only one
  uint32_t spread : 3 = 0;   // consecutive lanes are 2^spread bytes apart; or kOneLane, kEveryLane
  uint32_t element : 3 = 0;  // log2 of the bytes that are one access; vectors have several
  uint32_t whole : 3 = 0;    // log2 of the bytes of the whole vector of a lane
  uint32_t kind : 2 = 0;
  uint32_t strong : 1 = 0;
  uint32_t scope : 3 = 0;
  uint32_t proxy : 2 = 0;
  uint32_t update : 1 = 0;       // a store after a load of the same thread from the same address
  uint32_t is_volatile : 1 = 0;  // where that is taken as it is meant (Options::allow_volatile)
  uint32_t same : 1 = 0;         // a store of the bytes that were there already (Options::sanitizer)

  explicit operator bool() const { return block != 0; }
  friend bool operator==(const ShadowCell&, const ShadowCell&) = default;
  AccessKind access() const { return static_cast<AccessKind>(kind); }
  bool writes() const { return access() != AccessKind::load; }
  Scope reach() const { return static_cast<Scope>(scope); }
  Proxy through() const { return static_cast<Proxy>(proxy); }
  bool of_card() const { return strong && element == kAnyWord && through() != Proxy::async; }

  // The lanes that accessed the byte at `offset` of the line.
  Mask lanes_at(uint32_t offset) const {
    if (spread == kEveryLane) return simt::kAllLanes;
    return Mask{1} << (spread == kOneLane ? lane : (lane + (offset >> spread)) % simt::kLanes);
  }
  uint32_t lane_at(uint32_t offset) const {
    return spread == kEveryLane ? lane : static_cast<uint32_t>(std::countr_zero(lanes_at(offset)));
  }
};
static_assert(sizeof(ShadowCell) == 16);

}  // namespace fb::race
