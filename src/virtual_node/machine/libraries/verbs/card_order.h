#pragma once

// What network cards promise about the order of what they do, for the race detector.
//
// The parts of a work request (rdma::Touch::Role) are agents of their own. A request begins with what its host knew
// when it was posted. Requests of one queue pair are performed in order at the responder, and read their sources in
// order; what comes behind a read or an atomic waits for its result only with a fence. The bytes of one message land in
// any order. Between queue pairs nothing is in order. A completion tells its host of the request and of those before it
// in its queue: of a reliable one also that it has been performed (of one that has failed: that those before it have),
// of a receive that the message has landed, and what the same queue pair has sent before it. A word that lands tells an
// agent that acquires it the same of the requests before, but not of the rest of its own message, nor of anything in
// memory with relaxed ordering.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "virtual_node/machine/process/services.h"
#include "virtual_node/rdma/cards.h"

namespace fb::machine {

class CardOrder {
 public:
  explicit CardOrder(ProcessServices& node) : node_(node) {}

  // For a request that is about to be posted; null: nothing is looked for. `where`: the line of the call.
  rdma::Token post(const Process& process, const rdma::QueuePair& pair, const rdma::SendWork& work,
                   std::string_view where);
  rdma::Token post_receive(const Process& process, std::string_view where);
  // Of memory of this process.
  void touch(uint32_t process, const rdma::Touch& touch, const Bytes& at, uint64_t bytes);
  void polled(uint32_t process, const rdma::Completion& completion);
  // Nothing of this process's memory, or for its queue pair, is touched any more.
  void end_region(uint32_t process);
  void end_pair(const rdma::QueuePair& pair);

 private:
  // Parts of a queue pair's requests that are in order with each other.
  enum class Lane : uint32_t { gather, land, land_relaxed, fetch, scatter };
  static constexpr uint32_t kLanes = 5;
  struct Request;
  struct Pair {
    uint32_t streams[kLanes] = {};
    race::ClockRef fetched;  // released to its reads and atomics
  };

  Pair& pair_of(uint32_t process, uint64_t pair);
  // All of these lanes up to request `last`, from 1; 0: none.
  race::ClockRef up_to(const Pair& pair, std::initializer_list<Lane> lanes, uint64_t last) const;
  race::ClockRef join(const race::ClockRef& a, const race::ClockRef& b) const { return node_.checking->join(a, b); }

  ProcessServices& node_;
  std::map<uint64_t, Pair> pairs_;              // by rdma::Object::id of the requester
  std::map<uint32_t, race::ClockRef> touched_;  // by process: what has been done to its memory
};

}  // namespace fb::machine
