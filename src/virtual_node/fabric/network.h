#pragma once

// The network between nodes: cards, each with one port, and a switch that never blocks. How long messages of cards
// take; what they do is not known here.
//
// Card c of node n has the number n * nic.per_node + c. What takes turns on a card: its messages, its port each way,
// its link to memory each way, and its atomic operations. Bytes stream through all of them at once, so that the slowest
// one counts.

#include <cstdint>
#include <vector>

#include "common/platform/platform.h"
#include "common/platform/time.h"
#include "virtual_node/fabric/bandwidth_calendar.h"
#include "virtual_node/fabric/share_ledger.h"

namespace fb::fabric {

class Network {
 public:
  Network(const platform::Platform& platform, ShareLedger& shares);

  uint32_t cards() const { return static_cast<uint32_t>(cards_.size()); }
  uint32_t node_of(uint32_t card) const { return card / nic_.per_node; }

  // A message: when its last byte has left the card, and when its first and its last one are in memory at the other
  // end.
  struct Flight {
    Time left = 0, first = 0, arrived = 0;
  };
  enum class Kind : uint8_t {
    request,      // takes a turn among the messages of its card
    answer,       // to a request
    from_atomic,  // the answer of the card's unit for atomic operations
  };
  struct Message {
    uint32_t from = 0, to = 0;  // may be the same
    uint64_t bytes = 0;
    uint32_t mtu = 0;  // of its packets
    Kind kind = Kind::request;
    bool inlined = false;                         // the payload came with the doorbell
    bool from_device = false, to_device = false;  // memory of a GPU
  };
  Flight send(const Message& message, Time at);

  // Payload of messages so far.
  struct Carried {
    uint64_t out = 0, in = 0;
  };
  Carried carried(uint32_t card) const { return cards_[card].carried; }

  // When the first byte of a request is on the wire, whose doorbell was rung at `at`.
  Time start(Time at, bool inlined, bool from_device);
  // When a queue pair can send its next message.
  Time after_message(Time at) { return shares_.later(at, nic_.message, platform::Group::latency); }
  // When the first byte of what is asked for leaves, in memory of a GPU.
  Time fetch_from_device(Time at) { return shares_.later(at, nic_.device_fetch, platform::Group::latency); }

  // Bytes of a stream of large messages that something else than queue pairs sends, GPU memory at both ends: when they
  // have left and arrived. Latencies are the caller's.
  Time stream(uint32_t from, uint32_t to, uint64_t bytes, Time at);

 private:
  struct Card {
    BandwidthCalendar messages;                     // of all queue pairs
    BandwidthCalendar out, in;                      // the port
    BandwidthCalendar loopback;                     // from the card to itself
    BandwidthCalendar reads, writes;                // of memory, over PCIe
    BandwidthCalendar device_reads, device_writes;  // the part of them that is memory of GPUs
    BandwidthCalendar atomics;
    Carried carried;
  };
  Time reserve(BandwidthCalendar& resource, Time at, uint64_t units);
  // When an operation may begin.
  Time take_turn(BandwidthCalendar& resource, Time at);
  // The far end: the first byte enters at `first`, while others still leave; the last one comes at `last`.
  Time receive(BandwidthCalendar& resource, Time first, Time last, uint64_t units);
  uint64_t with_headers(uint64_t bytes, uint64_t mtu) const;

  platform::Platform::Nic nic_;
  ShareLedger& shares_;
  std::vector<Card> cards_;
};

}  // namespace fb::fabric
