#pragma once

// The network between nodes: cards, each with one port, and a switch that never blocks. How long messages of cards
// take; what they do is not known here.
//
// Card c of node n has the number n * nic.per_node + c.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fabric/bandwidth_calendar.h"
#include "fabric/platform.h"
#include "fabric/share_ledger.h"
#include "fabric/time.h"

namespace fb::fabric {

// No message of a host is faster: from the doorbell, with its payload, into memory behind another card.
inline Time least_crossing(const Platform& platform) {
  return platform.nic.inline_start + std::min(platform.nic.wire, platform.nic.loopback) + platform.nic.deliver;
}

class Network {
 public:
  Network(const Platform& platform, ShareLedger& shares);

  uint32_t cards() const { return static_cast<uint32_t>(ports_.size()); }
  uint32_t node_of(uint32_t card) const { return card / nic_.per_node; }

  // A message: when its last byte has left the card, and when it is in memory at the other end.
  struct Flight {
    Time left = 0, arrived = 0;
  };
  struct Message {
    uint32_t from = 0, to = 0;  // may be the same
    uint64_t bytes = 0;
    uint32_t mtu = 0;      // of its packets
    bool fetched = false;  // the answer to a read
  };
  Flight send(const Message& message, Time at);

  // Payload of messages so far.
  struct Carried {
    uint64_t out = 0, in = 0;
  };
  Carried carried(uint32_t card) const { return ports_[card].carried; }

  // From the doorbell to the first byte on the wire.
  Time start(bool inlined) const { return inlined ? nic_.inline_start : nic_.start; }
  // From one message of a queue pair to the next.
  Time interval() const { return nic_.message; }

 private:
  struct Port {
    BandwidthCalendar out, in;
    Carried carried;
  };
  Time reserve(BandwidthCalendar& resource, Time at, uint64_t units);

  Platform::Nic nic_;
  ShareLedger& shares_;
  std::vector<Port> ports_;
};

}  // namespace fb::fabric
