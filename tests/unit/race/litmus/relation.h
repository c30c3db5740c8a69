#pragma once

// Relations between at most 32 events, as bits.

#include <array>
#include <bit>
#include <cstdint>

namespace fb::litmus {

inline constexpr int kMostEvents = 32;

using EventSet = uint32_t;
inline constexpr EventSet bit(int event) { return EventSet{1} << event; }

// Calls f for every event of a set.
template <class F>
void for_each(EventSet set, F&& f) {
  for (; set != 0; set &= set - 1) f(std::countr_zero(set));
}

struct Relation {
  std::array<EventSet, kMostEvents> after{};  // after[a] has b: a before b

  bool has(int a, int b) const { return (after[static_cast<size_t>(a)] >> b & 1) != 0; }
  void add(int a, int b) { after[static_cast<size_t>(a)] |= bit(b); }
  EventSet& operator[](int a) { return after[static_cast<size_t>(a)]; }
  EventSet operator[](int a) const { return after[static_cast<size_t>(a)]; }

  Relation& operator|=(const Relation& other) {
    for (size_t a = 0; a < after.size(); ++a) after[a] |= other.after[a];
    return *this;
  }

  void close(int events) {
    for (int via = 0; via < events; ++via) {
      for (int a = 0; a < events; ++a) {
        if (has(a, via)) (*this)[a] |= (*this)[via];
      }
    }
  }
  // Of a closed relation.
  bool cyclic(int events) const {
    for (int a = 0; a < events; ++a) {
      if (has(a, a)) return true;
    }
    return false;
  }
};

}  // namespace fb::litmus
