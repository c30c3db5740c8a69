#pragma once

// How long accesses and copies take on a platform: memories, links between devices, the switch, links to the host.
//
// A fabric models times and bytes, not contents and not permissions: the caller must have checked that the access is
// possible. Calls need not come in the order of their times (bandwidth_calendar.h), but a later call never delays a
// request that was already served.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/platform/platform.h"
#include "common/platform/time.h"
#include "virtual_node/fabric/bandwidth_calendar.h"
#include "virtual_node/fabric/flow_control.h"
#include "virtual_node/fabric/share_ledger.h"
#include "virtual_node/fabric/traffic.h"

namespace fb::fabric {

// A round trip.
struct Trip {
  Time issued = 0;  // when it left the multiprocessor: delayed if too many bytes were in flight
  Time there = 0;   // when the owner's memory was read, written or changed
  Time back = 0;    // when the data or the acknowledgement was back
};

// A copy in progress. The caller calls Fabric::advance() at `next`, repeatedly until it is done, so that copies and
// kernels on one link share its bandwidth.
struct Copy {
  uint32_t engine_of = 0;  // the device that owns the copy engine
  uint32_t engine = 0;
  uint32_t from = 0, to = 0;  // owners
  uint64_t left = 0;
  Time begin = 0;       // of the first byte
  Time next = 0;        // when to call advance()
  Time end = 0;         // when all that was sent has arrived
  Time not_faster = 0;  // picoseconds per 1024 bytes: the copy's own limit; 0: none
  bool reads = true;    // false: fills memory
  bool through_host = false;
  // When the last kWindow pieces have left: this many are in flight.
  static constexpr size_t kWindow = 11;
  std::array<Time, kWindow> sent = {};
  uint64_t pieces = 0;
  bool done() const { return left == 0; }
};

// The bytes of an access, and how many of them the owner's L2 has to get from its memory, or bring there.
struct Bytes {
  Bytes(uint64_t bytes) : all(bytes), memory(bytes) {}  // NOLINT(google-explicit-constructor): nothing in L2
  Bytes(uint64_t bytes, uint64_t in_memory) : all(bytes), memory(in_memory) {}
  uint64_t all;
  uint64_t memory;
};

class Fabric {
 public:
  explicit Fabric(const platform::Platform& platform);
  ~Fabric();
  Fabric(Fabric&&) noexcept;

  const platform::Platform& platform() const { return platform_; }

  // Accesses of multiprocessor `sm` of `device` to the memory of `owner`: a device, or kHost. `in_l2`: the bytes are
  // those of a flag, and no access to device memory is needed.
  Trip read(uint32_t device, uint32_t sm, uint32_t owner, Bytes bytes, Time at, bool in_l2 = false);
  Trip write(uint32_t device, uint32_t sm, uint32_t owner, Bytes bytes, Time at);
  // The same by a bulk copy of a kernel, which uses larger packets.
  Trip bulk_read(uint32_t device, uint32_t sm, uint32_t owner, Bytes bytes, Time at);
  Trip bulk_write(uint32_t device, uint32_t sm, uint32_t owner, Bytes bytes, Time at);
  // `operations`: 32-byte sectors that are changed.
  Trip atomic(uint32_t device, uint32_t sm, uint32_t owner, uint64_t operations, Time at);
  // To the memory of all members at once; `there` is the time of the last of them.
  Trip multicast_write(uint32_t device, uint32_t sm, std::span<const uint32_t> members, uint64_t bytes, Time at);
  Trip multicast_atomic(uint32_t device, uint32_t sm, std::span<const uint32_t> members, uint64_t bytes, Time at);
  // Reads from all members, reduced on the way.
  Trip multicast_reduce(uint32_t device, uint32_t sm, std::span<const uint32_t> members, uint64_t bytes, Time at);

  // Latency from the owner's memory to the device, for a line that is known to be in L2.
  Time way_back(uint32_t device, uint32_t owner) const;

  // Copies by a copy engine of `device`
  // `through_host`: between devices without access to each other, by way of a buffer in the host's memory.
  Copy start_copy(uint32_t device, uint32_t from, uint32_t to, uint64_t bytes, Time at, bool pageable = false,
                  bool through_host = false);
  Copy start_fill(uint32_t device, uint32_t to, uint64_t bytes, Time at);
  void advance(Copy& copy);
  // All pieces at once, without other traffic in between; returns the finished copy.
  Copy copy(uint32_t device, uint32_t from, uint32_t to, uint64_t bytes, Time at, bool pageable = false);

  // A piece of a collective at one device: bytes that leave and enter through its port while others are in progress,
  // and that its memory reads and writes. Returns when all have been served. `weight`: of a byte on the link.
  Time pass_through(uint32_t device, uint64_t out, uint64_t in, uint64_t memory, double weight, Time at);
  // A piece of an operation that is modelled as a whole: the multiprocessors of `device` read or write memory of
  // `owner` while other pieces are in progress. Returns when all of it has been served.
  Time stream(uint32_t device, uint32_t owner, Bytes bytes, bool reads, Time at);
  // Bytes a second of a device's port, each way, and what a byte stored by a kernel weighs on it.
  double port_bandwidth() const;
  double store_weight() const { return static_cast<double>(store_weight_) / 65536; }

  // What times are made of, of all that happens on the node.
  ShareLedger& shares() { return ledger_; }

  // Counters
  const Counters& counters(uint32_t device) const;
  // Logs traffic by time from now on; the log lives as long as the fabric.
  const TrafficLog& log_traffic(Time interval);

 private:
  struct Device;
  struct Ports;
  struct Route;

  // Fixed point, 16 fractional bits.
  using Ratio = uint64_t;
  static uint64_t scaled(uint64_t bytes, Ratio ratio) { return bytes * ratio >> 16; }

  Ports& ports(Device& device, uint32_t sm);
  Route route(uint32_t from, uint32_t to);
  // Everything that takes time is one of these, so that the ledger knows of it.
  Time later(Time at, Time duration, platform::Group group = platform::Group::latency);
  Time reserve(BandwidthCalendar& resource, Time at, uint64_t units);
  Time receive(BandwidthCalendar& resource, Time first, Time last, uint64_t units);
  Time enter(FlowControl& limited, Time at, uint64_t bytes, uint64_t limit);
  // Through both ends of a link, with its latency; `weight`: the bytes it is charged with.
  Time send(const Route& route, uint64_t weight, Time at);
  // `weight`: charged for a byte on a link between devices.
  Trip fetch(uint32_t device, uint32_t sm, uint32_t owner, Bytes bytes, Time at, bool in_l2, Ratio weight);
  Trip deliver(uint32_t device, uint32_t sm, uint32_t owner, Bytes bytes, Time at, Ratio weight);
  void count(uint32_t device, Traffic kind, Time at, uint64_t bytes);
  void count_trip(uint32_t from, uint32_t to, Time at, uint64_t bytes);
  Trip spread(uint32_t device, uint32_t sm, std::span<const uint32_t> members, uint64_t bytes, Time at, bool atomic);

  platform::Platform platform_;
  std::vector<Device> devices_;
  Ratio store_weight_ = 0, load_weight_ = 0, bulk_weight_ = 0;  // on links between devices
  Ratio multicast_store_weight_ = 0, multicast_reduce_weight_ = 0;
  Ratio host_load_weight_ = 0;
  std::unique_ptr<TrafficLog> log_;
  ShareLedger ledger_;
  // The last trip that had to wait for another one because of a limit on bytes in flight.
  struct Hop {
    Time at = 0;          // it was issued
    Time round_trip = 0;  // of the one that it waited for
  };
  Hop hop_;
  Time hop_of(Time at) const { return at == hop_.at ? hop_.round_trip : 0; }
};

}  // namespace fb::fabric
