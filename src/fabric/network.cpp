#include "fabric/network.h"

#include <algorithm>

namespace fb::fabric {

// The bandwidth of the platform is that of payload in packets of full size; ports carry headers, too.
Network::Network(const Platform& platform, ShareLedger& shares) : nic_(platform.nic), shares_(shares) {
  if (nic_.per_node == 0) return;
  const double with_headers =
      nic_.bandwidth * static_cast<double>(nic_.mtu + nic_.header) / static_cast<double>(nic_.mtu);
  ports_.resize(size_t{platform.node.nodes} * nic_.per_node);
  for (Port& port : ports_) {
    port.out = BandwidthCalendar(with_headers);
    port.in = BandwidthCalendar(with_headers);
  }
}

Time Network::reserve(BandwidthCalendar& resource, Time at, uint64_t units) {
  const Time end = resource.reserve(at, units);
  const Time work = resource.duration(units);
  shares_.add(resource.period, {at, at + work, end, work}, Group::bandwidth);
  return end;
}

Network::Flight Network::send(const Message& m, Time at) {
  const uint64_t mtu = std::max<uint64_t>(m.mtu, 1);
  const uint64_t packets = std::max<uint64_t>((m.bytes + mtu - 1) / mtu, 1);
  uint64_t units = m.bytes + packets * nic_.header;
  // The card that answers a read is the one that is slower than its port.
  if (m.fetched) units = static_cast<uint64_t>(static_cast<double>(units) * nic_.bandwidth / nic_.read_bandwidth);
  ports_[m.from].carried.out += m.bytes;
  ports_[m.to].carried.in += m.bytes;
  Flight flight;
  flight.left = reserve(ports_[m.from].out, at, units);
  const Time wire = m.from == m.to ? nic_.loopback : nic_.wire;
  const Time last = shares_.later(flight.left, wire, Group::latency);
  const Time received = std::max(last, ports_[m.to].in.reserve(at + wire, units));
  shares_.add(ports_[m.to].in.period, {last, last, received, ports_[m.to].in.duration(units)}, Group::bandwidth);
  flight.arrived = shares_.later(received, nic_.deliver, Group::latency);
  return flight;
}

}  // namespace fb::fabric
