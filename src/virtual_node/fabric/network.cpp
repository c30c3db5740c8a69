#include "virtual_node/fabric/network.h"

#include <algorithm>

namespace fb::fabric {
namespace {

// Operations that take turns, as units of a calendar: an interval of it need not have room for a whole one.
constexpr uint64_t kOperation = 1024;

BandwidthCalendar one_each(Time interval) {
  constexpr Time kShortest = platform::kNanosecond / 10;
  return BandwidthCalendar(kOperation * 1e12 / static_cast<double>(std::max(interval, kShortest)));
}

}  // namespace

// The bandwidths of the platform are those of payload in packets of full size; ports carry headers, too.
Network::Network(const platform::Platform& platform, ShareLedger& shares) : nic_(platform.nic), shares_(shares) {
  if (nic_.per_node == 0) return;
  const double headers = static_cast<double>(nic_.mtu + nic_.header) / static_cast<double>(nic_.mtu);
  cards_.resize(size_t{platform.node.nodes} * nic_.per_node);
  for (Card& card : cards_) {
    card.messages = one_each(nic_.card_message);
    card.out = BandwidthCalendar(nic_.bandwidth * headers);
    card.in = BandwidthCalendar(nic_.bandwidth * headers);
    card.loopback = BandwidthCalendar(nic_.loopback_bandwidth * headers);
    card.reads = BandwidthCalendar(nic_.memory_bandwidth);
    card.writes = BandwidthCalendar(nic_.memory_bandwidth);
    card.device_reads = BandwidthCalendar(nic_.device_read_bandwidth);
    card.device_writes = BandwidthCalendar(nic_.device_write_bandwidth);
    card.atomics = one_each(nic_.atomic);
  }
}

Time Network::reserve(BandwidthCalendar& resource, Time at, uint64_t units) {
  const Time end = resource.reserve(at, units);
  const Time work = resource.duration(units);
  shares_.add(resource.period, {at, at + work, end, work}, platform::Group::bandwidth);
  return end;
}

Time Network::receive(BandwidthCalendar& resource, Time first, Time last, uint64_t units) {
  const Time end = std::max(last, resource.reserve(first, units));
  shares_.add(resource.period, {last, last, end, resource.duration(units)}, platform::Group::bandwidth);
  return end;
}

// Turns only keep others waiting: what a first one takes is in the latencies.
Time Network::take_turn(BandwidthCalendar& resource, Time at) {
  const Time work = resource.duration(kOperation);
  const Time begin = std::max(at, resource.reserve(at, kOperation) - work);
  shares_.add(resource.period, {at, at, begin, work}, platform::Group::latency);
  return begin;
}

uint64_t Network::with_headers(uint64_t bytes, uint64_t mtu) const {
  mtu = std::max<uint64_t>(mtu, 1);
  return bytes + std::max<uint64_t>((bytes + mtu - 1) / mtu, 1) * nic_.header;
}

Time Network::start(Time at, bool inlined, bool from_device) {
  const Time begun = shares_.later(at, inlined ? nic_.inline_start : nic_.start, platform::Group::latency);
  return from_device && !inlined ? fetch_from_device(begun) : begun;
}

Network::Flight Network::send(const Message& m, Time at) {
  Card &from = cards_[m.from], &to = cards_[m.to];
  if (m.kind == Kind::request) at = take_turn(from.messages, at);
  if (m.kind == Kind::from_atomic) at = take_turn(from.atomics, at);
  const uint64_t units = with_headers(m.bytes, m.mtu);
  const bool loops = m.from == m.to;
  from.carried.out += m.bytes;
  to.carried.in += m.bytes;

  Flight flight;
  flight.left = reserve(loops ? from.loopback : from.out, at, units);
  if (m.bytes != 0 && !m.inlined) {
    flight.left = std::max(flight.left, reserve(from.reads, at, m.bytes));
    if (m.from_device) flight.left = std::max(flight.left, reserve(from.device_reads, at, m.bytes));
  }
  const Time wire = loops ? nic_.loopback : nic_.wire;
  Time last = shares_.later(flight.left, wire, platform::Group::latency);
  const Time first = at + wire;
  if (!loops) last = receive(to.in, first, last, units);
  if (m.bytes != 0) {
    last = receive(to.writes, first, last, m.bytes);
    if (m.to_device) last = receive(to.device_writes, first, last, m.bytes);
  }
  const Time deliver = nic_.deliver + (m.to_device && m.bytes != 0 ? nic_.device_deliver : 0);
  flight.arrived = shares_.later(last, deliver, platform::Group::latency);
  flight.first = std::min(flight.arrived, first + deliver);
  return flight;
}

Time Network::stream(uint32_t from, uint32_t to, uint64_t bytes, Time at) {
  const uint64_t units = with_headers(bytes, nic_.mtu);
  Card &source = cards_[from], &target = cards_[to];
  Time end = reserve(source.out, at, units);
  for (BandwidthCalendar* const resource : {&source.reads, &source.device_reads, &target.writes, &target.device_writes})
    end = std::max(end, reserve(*resource, at, bytes));
  return std::max(end, reserve(target.in, at, units));
}

}  // namespace fb::fabric
