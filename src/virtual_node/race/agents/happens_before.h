#pragma once

// Whether an earlier access happens before the current one, and which accesses are morally strong (PTX memory model).

#include <cstdint>

#include "virtual_node/race/agents/access_context.h"
#include "virtual_node/race/agents/agents.h"

namespace fb::race {

class HappensBefore {
 public:
  HappensBefore(const Agents& agents, bool strict) : agents_(agents), strict_(strict) {}

  const Agents& agents() const { return agents_; }

  // Whether `earlier`, where it touched the byte at `offset` of its line, happens before `access`.
  bool orders(const AccessContext& access, const ShadowCell& earlier, uint32_t offset) const;
  // The same for the threads alone: without the proxy fence that an asynchronous copy needs.
  bool orders_threads(const AccessContext& access, const ShadowCell& earlier, uint32_t earlier_lane,
                      uint32_t later_lane) const;
  // Whether the answer of orders() can differ between the bytes of the line.
  bool depends_on_byte(const AccessContext& access, const ShadowCell& earlier) const;
  // Whether the value of `write` was read by a strong load that happens before `access`.
  bool has_seen(const AccessContext& access, const ShadowCell& write, const LineRef& at, uint32_t offset) const;
  bool are_morally_strong(const ShadowCell& a, const ShadowCell& b) const;

 private:
  bool are_words_of_cards(const ShadowCell& a, const ShadowCell& b) const;
  bool covers(const AccessContext& access, const ShadowCell& cell, Mask lanes, Mask mine, bool async,
              const ClockRef& clock) const;

  const Agents& agents_;
  bool strict_;
};

}  // namespace fb::race
