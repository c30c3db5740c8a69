#pragma once

// One candidate execution and what the axioms say of it.

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "litmus/events.h"

namespace fb::litmus {

struct Execution {
  EventSet present = 0;
  std::array<int16_t, kMostEvents> source{};  // of each read: the write
  Relation coherence;                         // between morally strong writes
  Relation fence_order;                       // between morally strong fence.sc

  Execution() { source.fill(kNone); }
};

struct Judgement {
  const char* broken = nullptr;  // the axiom; null: allowed
  Relation coherence;            // completed
  std::optional<std::pair<int, int>> race;
  bool mixed_size = false;  // one of its races is between accesses of different sizes
};

Judgement judge(const Events& events, const Execution& execution);

struct Values {
  std::array<uint32_t, kMostEvents> read{}, written{};
};
// None if values come out of thin air.
std::optional<Values> values(const Events& events, const Execution& execution);

}  // namespace fb::litmus
