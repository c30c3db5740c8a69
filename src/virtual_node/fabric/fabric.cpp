#include "virtual_node/fabric/fabric.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"

namespace fb::fabric {

// In-flight limits of one multiprocessor.
struct Fabric::Ports {
  FlowControl loads, stores, remote_loads, remote_stores;
};

struct Fabric::Device {
  BandwidthCalendar memory, l2, atomics;
  BandwidthCalendar peer_out, peer_in;  // NVLink
  BandwidthCalendar multicast;          // the part of it that is multicast or reduced, both directions together
  BandwidthCalendar to_host, from_host;
  BandwidthCalendar nic_out, nic_in;
  FlowControl remote_stores;  // of all multiprocessors
  std::vector<Ports> ports;   // by multiprocessor; empty until one is used
  std::vector<Time> engines;  // busy until, by copy engine
  Counters counters{};
};

// From one memory to another: the resources it leaves and enters through, and the latency between them.
struct Fabric::Route {
  BandwidthCalendar* out = nullptr;
  BandwidthCalendar* in = nullptr;
  Time latency = 0;
};

namespace {

uint64_t ratio(double full, double effective) {
  return effective > 0 ? static_cast<uint64_t>(std::llround(full / effective * 65536)) : 65536;
}

}  // namespace

Fabric::Fabric(const platform::Platform& platform) : platform_(platform), devices_(platform.devices()) {
  const platform::Platform& p = platform_;
  for (Device& d : devices_) {
    d.memory = BandwidthCalendar(p.memory.bandwidth);
    d.l2 = BandwidthCalendar(p.cache.l2_bandwidth);
    d.atomics = BandwidthCalendar(p.memory.atomic_rate);
    if (p.peer.nvlink) {
      d.peer_out = BandwidthCalendar(p.peer.copy_bandwidth);
      d.peer_in = BandwidthCalendar(p.peer.copy_bandwidth);
    }
    if (p.multicast.supported) d.multicast = BandwidthCalendar(p.multicast.duplex_bandwidth);
    d.to_host = BandwidthCalendar(p.host_link.to_host_bandwidth);
    d.from_host = BandwidthCalendar(p.host_link.from_host_bandwidth);
    if (p.nic.per_node > 0) {
      // The devices of a node share its network cards evenly.
      const double share = p.nic.bandwidth * p.nic.per_node / p.node.devices;
      d.nic_out = BandwidthCalendar(share);
      d.nic_in = BandwidthCalendar(share);
    }
    d.engines.resize(p.device.copy_engines);
  }
  store_weight_ = ratio(p.peer.copy_bandwidth, p.peer.store_bandwidth);
  load_weight_ = ratio(p.peer.copy_bandwidth, p.peer.load_bandwidth);
  bulk_weight_ = ratio(p.peer.copy_bandwidth, p.peer.bulk_bandwidth);
  multicast_store_weight_ = ratio(p.peer.copy_bandwidth, p.multicast.store_bandwidth);
  multicast_reduce_weight_ = ratio(p.peer.copy_bandwidth, p.multicast.reduce_bandwidth);
  host_load_weight_ = ratio(p.host_link.from_host_bandwidth, p.host_link.load_bandwidth);
}

Fabric::~Fabric() = default;
Fabric::Fabric(Fabric&&) noexcept = default;

Fabric::Ports& Fabric::ports(Device& device, uint32_t sm) {
  if (device.ports.empty()) device.ports.resize(platform_.device.sms);
  FB_CHECK(sm < device.ports.size());
  return device.ports[sm];
}

Fabric::Route Fabric::route(uint32_t from, uint32_t to) {
  FB_CHECK(from != to);
  if (to == platform::kHost) return {&devices_[from].to_host, nullptr, platform_.host_link.latency};
  if (from == platform::kHost) return {nullptr, &devices_[to].from_host, platform_.host_link.latency};
  Device &a = devices_[from], &b = devices_[to];
  if (platform_.node_of(from) != platform_.node_of(to)) return {&a.nic_out, &b.nic_in, platform_.nic.latency};
  if (platform_.peer.nvlink) return {&a.peer_out, &b.peer_in, platform_.peer.latency};
  return {&a.to_host, &b.from_host, platform_.peer.latency};
}

// What takes time. The ledger is told what the time scales with.

Time Fabric::later(Time at, Time duration, platform::Group group) {
  return ledger_.later(at, duration, group, hop_of(at));
}

Time Fabric::reserve(BandwidthCalendar& resource, Time at, uint64_t units) {
  const Time end = resource.reserve(at, units);
  if (ledger_.is_active()) [[unlikely]] {
    const Time work = resource.duration(units);
    ledger_.add(resource.period, {at, at + work, end, work}, platform::Group::bandwidth, hop_of(at));
  }
  return end;
}

// The far end of a link, where the last byte arrives at `last`. The first one enters while others still leave.
Time Fabric::receive(BandwidthCalendar& resource, Time first, Time last, uint64_t units) {
  const Time end = std::max(last, resource.reserve(first, units));
  if (ledger_.is_active()) [[unlikely]]
    ledger_.add(resource.period, {last, last, end, resource.duration(units)}, platform::Group::bandwidth);
  return end;
}

Time Fabric::enter(FlowControl& limited, Time at, uint64_t bytes, uint64_t limit) {
  const Time issued = limited.enter(at, bytes, limit);
  if (issued > at) hop_ = {issued, limited.round_trip()};
  return issued;
}

Time Fabric::send(const Route& r, uint64_t weight, Time at) {
  Time t = at;
  if (r.out) t = reserve(*r.out, t, weight);
  t = later(t, r.latency);
  if (!r.in) return t;
  const Time first = r.out ? std::max(at + r.latency, t - std::min(t, r.in->duration(weight))) : t;
  return r.out ? receive(*r.in, first, t, weight) : reserve(*r.in, t, weight);
}

void Fabric::count(uint32_t device, Traffic kind, Time at, uint64_t bytes) {
  devices_[device].counters[static_cast<size_t>(kind)] += bytes;
  if (log_) log_->add(device, kind, at, bytes);
}

void Fabric::count_trip(uint32_t from, uint32_t to, Time at, uint64_t bytes) {
  if (from == platform::kHost) {
    if (to != platform::kHost) count(to, Traffic::from_host, at, bytes);
  } else if (to == platform::kHost) {
    count(from, Traffic::to_host, at, bytes);
  } else if (from != to) {
    count(from, Traffic::peer_out, at, bytes);
    count(to, Traffic::peer_in, at, bytes);
  }
}

Trip Fabric::read(uint32_t device, uint32_t sm, uint32_t owner, Bytes bytes, Time at, bool in_l2) {
  return fetch(device, sm, owner, bytes, at, in_l2, load_weight_);
}

Trip Fabric::bulk_read(uint32_t device, uint32_t sm, uint32_t owner, Bytes bytes, Time at) {
  return fetch(device, sm, owner, bytes, at, false, bulk_weight_);
}

Trip Fabric::write(uint32_t device, uint32_t sm, uint32_t owner, Bytes bytes, Time at) {
  return deliver(device, sm, owner, bytes, at, store_weight_);
}

Trip Fabric::bulk_write(uint32_t device, uint32_t sm, uint32_t owner, Bytes bytes, Time at) {
  return deliver(device, sm, owner, bytes, at, bulk_weight_);
}

Trip Fabric::fetch(uint32_t device, uint32_t sm, uint32_t owner, Bytes bytes, Time at, bool in_l2, Ratio weight_of) {
  Device& own = devices_[device];
  Ports& port = ports(own, sm);
  const auto& limits = platform_.in_flight;
  Trip trip;
  hop_ = {};
  if (owner == device) {
    trip.issued = enter(port.loads, at, bytes.all, limits.loads);
    if (in_l2) {
      trip.there = later(trip.issued, platform_.memory.l2_latency / 2);
      trip.back = later(trip.issued, platform_.memory.l2_latency);
    } else {
      Time served = reserve(own.l2, trip.issued, bytes.all);
      Time latency = platform_.cache.l2_latency;
      if (bytes.memory > 0) {
        served = std::max(served, reserve(own.memory, trip.issued, bytes.memory));
        latency = platform_.memory.latency;
      }
      count(device, Traffic::memory, served, bytes.all);
      trip.there = later(served, latency / 2);
      trip.back = later(served, latency);
    }
    port.loads.leave(trip.issued, trip.back, bytes.all, limits.loads);
    return trip;
  }
  trip.issued = enter(port.remote_loads, at, bytes.all, limits.remote_loads);
  const Route r = route(owner, device);
  trip.there = later(trip.issued, r.latency);
  uint64_t weight = bytes.all;
  if (owner != platform::kHost) {
    if (!in_l2) {
      if (bytes.memory > 0) trip.there = reserve(devices_[owner].memory, trip.there, bytes.memory);
      count(owner, Traffic::memory, trip.there, bytes.all);
    }
    trip.there = later(trip.there, platform_.memory.l2_latency);
    weight = scaled(bytes.all, weight_of);
  } else {
    weight = scaled(bytes.all, host_load_weight_);
  }
  trip.back = send(r, weight, trip.there);
  port.remote_loads.leave(trip.issued, trip.back, bytes.all, limits.remote_loads);
  count_trip(owner, device, trip.back, bytes.all);
  return trip;
}

Trip Fabric::deliver(uint32_t device, uint32_t sm, uint32_t owner, Bytes bytes, Time at, Ratio weight_of) {
  Device& own = devices_[device];
  Ports& port = ports(own, sm);
  const auto& limits = platform_.in_flight;
  Trip trip;
  hop_ = {};
  if (owner == device) {
    trip.issued = enter(port.stores, at, bytes.all, limits.stores);
    Time served = reserve(own.l2, trip.issued, bytes.all);
    if (bytes.memory > 0) served = std::max(served, reserve(own.memory, trip.issued, bytes.memory));
    count(device, Traffic::memory, served, bytes.all);
    trip.there = later(served, platform_.memory.l2_latency / 2);
    trip.back = later(served, platform_.memory.l2_latency);
    port.stores.leave(trip.issued, trip.back, bytes.all, limits.stores);
    return trip;
  }
  trip.issued = enter(port.remote_stores, at, bytes.all, limits.remote_stores);
  trip.issued = enter(own.remote_stores, trip.issued, bytes.all, limits.device_remote_stores);
  const Route r = route(device, owner);
  const bool to_peer = owner != platform::kHost;
  trip.there = send(r, to_peer ? scaled(bytes.all, weight_of) : bytes.all, trip.issued);
  if (to_peer) {
    if (bytes.memory > 0) trip.there = reserve(devices_[owner].memory, trip.there, bytes.memory);
    count(owner, Traffic::memory, trip.there, bytes.all);
  }
  trip.back = later(trip.there, r.latency);
  port.remote_stores.leave(trip.issued, trip.back, bytes.all, limits.remote_stores);
  own.remote_stores.leave(trip.issued, trip.back, bytes.all, limits.device_remote_stores);
  count_trip(device, owner, trip.there, bytes.all);
  return trip;
}

Trip Fabric::atomic(uint32_t device, uint32_t sm, uint32_t owner, uint64_t operations, Time at) {
  constexpr uint64_t kSector = 32;
  Device& own = devices_[device];
  Ports& port = ports(own, sm);
  const auto& limits = platform_.in_flight;
  const Time half = platform_.memory.atomic_latency / 2;
  const uint64_t bytes = operations * kSector;
  Trip trip;
  hop_ = {};
  if (owner == device) {
    trip.issued = enter(port.stores, at, bytes, limits.stores);
    const Time served = reserve(own.atomics, trip.issued, operations);
    trip.there = later(served, half);
    trip.back = later(served, platform_.memory.atomic_latency);
    port.stores.leave(trip.issued, trip.back, bytes, limits.stores);
    return trip;
  }
  trip.issued = enter(port.remote_stores, at, bytes, limits.remote_stores);
  const Route r = route(device, owner);
  const bool to_peer = owner != platform::kHost;
  trip.there = send(r, to_peer ? scaled(bytes, store_weight_) : bytes, trip.issued);
  if (to_peer) trip.there = reserve(devices_[owner].atomics, trip.there, operations);
  trip.there = later(trip.there, half);
  trip.back = later(trip.there, half + r.latency);
  port.remote_stores.leave(trip.issued, trip.back, bytes, limits.remote_stores);
  count_trip(device, owner, trip.there, bytes);
  return trip;
}

// Stores leave the device once and enter every member, the device itself among them if it is one: the switch returns
// its share.
Trip Fabric::spread(uint32_t device, uint32_t sm, std::span<const uint32_t> members, uint64_t bytes, Time at,
                    bool atomic) {
  Device& own = devices_[device];
  Ports& port = ports(own, sm);
  const auto& limits = platform_.in_flight;
  const uint64_t weight = scaled(bytes, multicast_store_weight_);
  Trip trip;
  hop_ = {};
  trip.issued = enter(port.remote_stores, at, bytes, limits.remote_stores);
  trip.issued = enter(own.remote_stores, trip.issued, bytes, limits.device_remote_stores);
  const Time way = platform_.peer.latency + platform_.multicast.latency;
  const Time leaves = std::max(reserve(own.peer_out, trip.issued, weight), reserve(own.multicast, trip.issued, bytes));
  const Time arrives = later(leaves, way);
  const Time first = arrives - std::min(arrives, own.peer_in.duration(weight));
  for (const uint32_t m : members) {
    Device& member = devices_[m];
    Time t =
        std::max(receive(member.peer_in, first, arrives, weight), receive(member.multicast, first, arrives, bytes));
    if (atomic) {
      t = later(reserve(member.atomics, t, (bytes + 31) / 32), platform_.memory.atomic_latency / 2);
    } else {
      t = reserve(member.memory, t, bytes);
      count(m, Traffic::memory, t, bytes);
    }
    trip.there = std::max(trip.there, t);
    count(m, Traffic::peer_in, t, bytes);
  }
  count(device, Traffic::peer_out, arrives, bytes);
  trip.back = later(trip.there, way);
  port.remote_stores.leave(trip.issued, trip.back, bytes, limits.remote_stores);
  own.remote_stores.leave(trip.issued, trip.back, bytes, limits.device_remote_stores);
  return trip;
}

Trip Fabric::multicast_write(uint32_t device, uint32_t sm, std::span<const uint32_t> members, uint64_t bytes, Time at) {
  return spread(device, sm, members, bytes, at, false);
}

Trip Fabric::multicast_atomic(uint32_t device, uint32_t sm, std::span<const uint32_t> members, uint64_t bytes,
                              Time at) {
  return spread(device, sm, members, bytes, at, true);
}

Trip Fabric::multicast_reduce(uint32_t device, uint32_t sm, std::span<const uint32_t> members, uint64_t bytes,
                              Time at) {
  Device& own = devices_[device];
  Ports& port = ports(own, sm);
  const auto& limits = platform_.in_flight;
  const uint64_t weight = scaled(bytes, multicast_reduce_weight_);
  const Time way = platform_.peer.latency + platform_.multicast.latency;
  Trip trip;
  hop_ = {};
  trip.issued = enter(port.remote_loads, at, bytes, limits.remote_loads);
  const Time asked = later(trip.issued, way);
  Time left = asked;
  for (const uint32_t m : members) {
    Device& member = devices_[m];
    const Time served = later(reserve(member.memory, asked, bytes), platform_.memory.l2_latency);
    trip.there = std::max(trip.there, served);
    left = std::max({left, reserve(member.peer_out, served, weight), reserve(member.multicast, served, bytes)});
    count(m, Traffic::memory, served, bytes);
    count(m, Traffic::peer_out, left, bytes);
  }
  const Time last = later(left, way);
  const Time first = last - std::min(last, own.peer_in.duration(weight));
  trip.back = std::max(receive(own.peer_in, first, last, weight), receive(own.multicast, first, last, bytes));
  port.remote_loads.leave(trip.issued, trip.back, bytes, limits.remote_loads);
  count(device, Traffic::peer_in, trip.back, bytes);
  return trip;
}

Time Fabric::way_back(uint32_t device, uint32_t owner) const {
  if (owner == device) return platform_.memory.l2_latency / 2;
  if (owner == platform::kHost) return platform_.host_link.latency;
  return platform_.node_of(device) == platform_.node_of(owner) ? platform_.peer.latency : platform_.nic.latency;
}

// Copies

Copy Fabric::start_copy(uint32_t device, uint32_t from, uint32_t to, uint64_t bytes, Time at, bool pageable,
                        bool through_host) {
  Copy c;
  c.engine_of = device;
  const auto& engines = devices_[device].engines;
  c.engine = static_cast<uint32_t>(std::ranges::min_element(engines) - engines.begin());
  c.from = from;
  c.to = to;
  c.left = bytes;
  c.begin = c.next = c.end = later(std::max(at, engines[c.engine]), platform_.copy.start, platform::Group::launch);
  c.through_host = through_host;
  // The second of two copies starts when the first piece is in the buffer.
  if (through_host) c.begin = c.next = c.end = later(c.begin, platform_.copy.start, platform::Group::launch);
  // The engine is reserved from now on: the next copy takes another one.
  devices_[device].engines[c.engine] = c.begin;
  if (pageable || (from == platform::kHost && to == platform::kHost)) {
    c.not_faster = static_cast<Time>(std::llround(1e12 * 1024 / platform_.host_link.pageable_bandwidth));
  }
  return c;
}

Copy Fabric::start_fill(uint32_t device, uint32_t to, uint64_t bytes, Time at) {
  Copy c = start_copy(device, to, to, bytes, at);
  c.reads = false;
  return c;
}

void Fabric::advance(Copy& c) {
  if (c.done()) return;
  // Short enough to share a link, long enough that pieces are few. The same for all copies, so that they share evenly.
  constexpr uint64_t kPiece = 256 << 10;
  Time& engine = devices_[c.engine_of].engines[c.engine];
  const uint64_t bytes = std::min(kPiece, c.left);
  const Time begin = std::max(c.next, engine);
  Time sent = begin, arrived = begin;
  if (c.from != c.to) {
    const Route r = c.through_host
                        ? Route{&devices_[c.from].to_host, &devices_[c.to].from_host, 2 * platform_.host_link.latency}
                        : route(c.from, c.to);
    arrived = send(r, bytes, begin);
    // No faster than the destination accepts them.
    sent = later(begin, arrived - r.latency - begin, platform::Group::bandwidth);
  }
  const auto touch = [&](uint32_t owner, uint64_t n) {
    if (owner == platform::kHost) return;
    const Time served = reserve(devices_[owner].memory, begin, n);
    sent = std::max(sent, served);
    count(owner, Traffic::memory, served, n);
  };
  if (c.reads) touch(c.from, bytes);
  touch(c.to, bytes);
  const Time before = c.pieces == 0 ? begin : c.sent[(c.pieces - 1) % Copy::kWindow];
  sent = std::max(sent, later(before, bytes * c.not_faster / 1024, platform::Group::bandwidth));
  if (c.through_host) {
    count_trip(c.from, platform::kHost, arrived, bytes);
    count_trip(platform::kHost, c.to, arrived, bytes);
  } else {
    count_trip(c.from, c.to, arrived, bytes);
  }
  c.end = std::max({c.end, arrived, sent});
  c.left -= bytes;
  c.sent[c.pieces++ % Copy::kWindow] = sent;
  // The next piece is requested when the oldest one in flight has left; the engine is busy until the last one has.
  const Time oldest = c.sent[c.pieces % Copy::kWindow];  // 0: fewer are in flight
  engine = c.next = c.done() ? sent : std::max(begin, oldest);
}

Copy Fabric::copy(uint32_t device, uint32_t from, uint32_t to, uint64_t bytes, Time at, bool pageable) {
  Copy c = start_copy(device, from, to, bytes, at, pageable);
  while (!c.done()) advance(c);
  return c;
}

double Fabric::port_bandwidth() const {
  return platform_.peer.nvlink
             ? platform_.peer.copy_bandwidth
             : std::min(platform_.host_link.to_host_bandwidth, platform_.host_link.from_host_bandwidth);
}

Time Fabric::pass_through(uint32_t device, uint64_t out, uint64_t in, uint64_t memory, double weight, Time at) {
  Device& d = devices_[device];
  const auto weighed = [weight](uint64_t bytes) {
    return static_cast<uint64_t>(std::llround(static_cast<double>(bytes) * weight));
  };
  BandwidthCalendar& leaves = platform_.peer.nvlink ? d.peer_out : d.to_host;
  BandwidthCalendar& enters = platform_.peer.nvlink ? d.peer_in : d.from_host;
  Time end = at;
  if (out != 0) end = std::max(end, reserve(leaves, at, weighed(out)));
  if (in != 0) end = std::max(end, reserve(enters, at, weighed(in)));
  if (memory != 0) end = std::max(end, reserve(d.memory, at, memory));
  count(device, Traffic::memory, end, memory);
  count(device, Traffic::peer_out, end, out);
  count(device, Traffic::peer_in, end, in);
  return end;
}

Time Fabric::stream(uint32_t device, uint32_t owner, Bytes bytes, bool reads, Time at) {
  hop_ = {};
  if (owner == device) {
    Device& d = devices_[device];
    Time end = reserve(d.l2, at, bytes.all);
    if (bytes.memory != 0) end = std::max(end, reserve(d.memory, at, bytes.memory));
    count(device, Traffic::memory, end, bytes.memory);
    return end;
  }
  const bool host = owner == platform::kHost;
  Time there = at;
  if (!host && bytes.memory != 0) {
    there = reserve(devices_[owner].memory, at, bytes.memory);
    count(owner, Traffic::memory, there, bytes.memory);
  }
  const Ratio weight = !host ? (reads ? load_weight_ : store_weight_) : reads ? host_load_weight_ : Ratio{65536};
  const Route way = reads ? route(owner, device) : route(device, owner);
  const Time end = std::max(there, send(way, scaled(bytes.all, weight), at));
  count_trip(reads ? owner : device, reads ? device : owner, end, bytes.all);
  return end;
}

const Counters& Fabric::counters(uint32_t device) const { return devices_[device].counters; }

const TrafficLog& Fabric::log_traffic(Time interval) {
  log_ = std::make_unique<TrafficLog>(static_cast<uint32_t>(devices_.size()), interval);
  return *log_;
}

}  // namespace fb::fabric
