#include "virtual_node/machine/libraries/verbs/card_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace fb::machine {

using Role = rdma::Touch::Role;

struct CardOrder::Request {
  uint32_t process = 0;
  int32_t rank = -1;
  uint64_t pair = 0;
  uint64_t number = 0;  // in its send queue, from 1
  bool reliable = false, fenced = false;
  std::string name;
  std::string where;
  race::ClockRef posted;
};

namespace {

const char* name_of(rdma::Opcode opcode) {
  using rdma::Opcode;
  switch (opcode) {
    case Opcode::write:
      return "RDMA write";
    case Opcode::write_immediate:
      return "RDMA write with immediate";
    case Opcode::read:
      return "RDMA read";
    case Opcode::compare_and_swap:
      return "compare and swap";
    case Opcode::fetch_and_add:
      return "fetch and add";
    default:
      return "send";
  }
}

race::CardRole role_of(Role role) {
  switch (role) {
    case Role::gather:
      return race::CardRole::gather;
    case Role::land:
      return race::CardRole::land;
    case Role::fetch:
      return race::CardRole::fetch;
    case Role::update:
      return race::CardRole::update;
    case Role::scatter:
      return race::CardRole::scatter;
  }
  return race::CardRole::none;
}

simt::AccessKind kind_of(Role role) {
  if (role == Role::update) return simt::AccessKind::atomic;
  return role == Role::land || role == Role::scatter ? simt::AccessKind::store : simt::AccessKind::load;
}

}  // namespace

CardOrder::Pair& CardOrder::pair_of(uint32_t process, uint64_t id) {
  const auto [found, fresh] = pairs_.try_emplace(id);
  if (fresh) {
    for (uint32_t k = 0; k < kLanes; ++k) found->second.streams[k] = node_.checking->card_stream(process, id, k).stream;
  }
  return found->second;
}

race::ClockRef CardOrder::up_to(const Pair& pair, std::initializer_list<Lane> lanes, uint64_t last) const {
  if (last == 0) return nullptr;
  auto clock = std::make_shared<race::Clock>();
  for (const Lane lane : lanes)
    clock->add(race::StreamEpoch{pair.streams[static_cast<uint32_t>(lane)], static_cast<uint32_t>(last)});
  return clock;
}

rdma::Token CardOrder::post(const Process& process, const rdma::QueuePair& pair, const rdma::SendWork& work,
                            std::string_view where) {
  if (!node_.checking) return nullptr;
  auto request = std::make_shared<Request>();
  request->process = process.number;
  request->rank = process.rank;
  request->pair = pair.id;
  request->number = pair.posted + 1;
  request->reliable = rdma::is_reliable(pair.type);
  request->fenced = (work.flags & rdma::send_flags::fence) != 0;
  request->name = fmt::format("{} of queue pair {:#x}", name_of(work.opcode), pair.number);
  request->where = where;
  request->posted = node_.checking->host_knows(process.number, !node_.judge);
  return request;
}

rdma::Token CardOrder::post_receive(const Process& process, std::string_view where) {
  if (!node_.checking) return nullptr;
  auto request = std::make_shared<Request>();
  request->process = process.number;
  request->where = where;
  request->posted = node_.checking->host_knows(process.number, !node_.judge);
  return request;
}

void CardOrder::touch(uint32_t process, const rdma::Touch& touch, const Bytes& at, uint64_t bytes) {
  if (!node_.checking || !touch.request || !at.allocation) return;
  const auto& request = *static_cast<const Request*>(touch.request.get());
  Pair& pair = pair_of(request.process, request.pair);
  const uint64_t before = request.number - 1;
  const auto all_before = [&](std::initializer_list<Lane> lanes) { return up_to(pair, lanes, before); };

  Checking::CardTouch part;
  part.where = request.where;
  part.kind = kind_of(touch.role);
  part.incoming = request.posted;
  race::OperationInfo& info = part.info;
  info.name = request.name;
  info.rank = request.rank;
  info.host = request.process;
  info.device = touch.card;
  info.card.role = role_of(touch.role);
  info.card.pair = request.pair;
  info.card.request = request.number;
  info.card.relaxed = touch.relaxed;

  Lane lane{};
  switch (touch.role) {
    case Role::gather:
      lane = Lane::gather;
      info.name += ", its source";
      break;
    case Role::land:
      lane = touch.relaxed ? Lane::land_relaxed : Lane::land;
      part.incoming = join(part.incoming, all_before({Lane::land, Lane::gather}));
      part.incoming = join(part.incoming, up_to(pair, {Lane::gather}, request.number));
      if (touch.receive) part.incoming = join(part.incoming, static_cast<const Request*>(touch.receive.get())->posted);
      break;
    case Role::fetch:
      lane = Lane::fetch;
      part.incoming = join(part.incoming, all_before({Lane::land, Lane::land_relaxed, Lane::fetch}));
      break;
    case Role::update:
      lane = Lane::fetch;
      part.incoming = join(part.incoming, all_before({Lane::land, Lane::land_relaxed, Lane::fetch}));
      break;
    case Role::scatter:
      lane = Lane::scatter;
      info.name += ", its result";
      part.incoming = join(part.incoming, all_before({Lane::gather, Lane::scatter}));
      break;
  }
  if (request.fenced) {
    part.incoming = join(part.incoming, all_before({Lane::fetch, Lane::scatter}));
    part.incoming = join(part.incoming, pair.fetched);
  }
  // Flags are small: what a larger read returns may be anything.
  constexpr uint64_t kLargestFlag = 64;
  race::ClockRef acquired;
  if ((touch.role == Role::fetch || touch.role == Role::update) && bytes <= kLargestFlag) {
    acquired = node_.checking->released_to_card(*at.allocation, at.host, bytes);
    pair.fetched = join(pair.fetched, acquired);
  }
  if (touch.role == Role::land || touch.role == Role::update) {
    // In memory with relaxed ordering a word tells of its host only. An update carries on what it has read.
    info.card.release = join(touch.relaxed ? request.posted : part.incoming, acquired);
    info.card.releases_itself = touch.alone && bytes <= sizeof(uint64_t);
  }
  info.stream_epoch = {pair.streams[static_cast<uint32_t>(lane)], static_cast<uint32_t>(request.number)};
  race::ClockRef& touched = touched_[process];
  touched = join(touched, up_to(pair, {lane}, request.number));
  node_.checking->card_touches(std::move(part), *at.allocation, at.host, bytes);
}

void CardOrder::polled(uint32_t process, const rdma::Completion& c) {
  if (!node_.checking || !c.request) return;
  const auto& request = *static_cast<const Request*>(c.request.get());
  Pair& pair = pair_of(request.process, request.pair);
  const uint64_t last = request.number;
  race::ClockRef learnt;
  if (c.sender == 0) {
    learnt = join(request.posted, up_to(pair, {Lane::gather, Lane::land, Lane::land_relaxed}, last));
    if (request.fenced) learnt = join(learnt, up_to(pair, {Lane::fetch, Lane::scatter}, last - 1));
  } else if (request.reliable && c.status == rdma::Status::success) {
    learnt = up_to(pair, {Lane::gather, Lane::land, Lane::land_relaxed, Lane::fetch, Lane::scatter}, last);
    learnt = join(learnt, pair.fetched);
  } else {
    learnt = up_to(pair, {Lane::gather, Lane::scatter}, last);
    // An error that is the request's own: those before it have been acknowledged.
    if (request.reliable && c.status != rdma::Status::flushed) {
      learnt = join(learnt, up_to(pair, {Lane::land, Lane::land_relaxed, Lane::fetch}, last - 1));
      learnt = join(learnt, pair.fetched);
    }
  }
  node_.checking->host_learns(process, learnt);
}

void CardOrder::end_region(uint32_t process) {
  if (!node_.checking) return;
  if (const auto found = touched_.find(process); found != touched_.end())
    node_.checking->host_learns(process, found->second);
}

void CardOrder::end_pair(const rdma::QueuePair& pair) {
  if (!node_.checking) return;
  if (const auto found = pairs_.find(pair.id); found != pairs_.end())
    node_.checking->host_learns(pair.process, up_to(found->second, {Lane::gather, Lane::scatter}, pair.posted));
  end_region(pair.process);
}

}  // namespace fb::machine
