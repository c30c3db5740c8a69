#pragma once

// The network cards of all nodes: their objects, and what becomes of work requests.
//
// Every function is called at Surroundings::now(). Functions that can fail return a number of errno, 0: done.

#include <cstdint>
#include <utility>
#include <vector>

#include "virtual_node/rdma/card_memory.h"
#include "virtual_node/rdma/completion_queues.h"
#include "virtual_node/rdma/object_table.h"
#include "virtual_node/rdma/objects.h"
#include "virtual_node/rdma/pair_states.h"
#include "virtual_node/rdma/requester.h"
#include "virtual_node/rdma/responder.h"
#include "virtual_node/rdma/surroundings.h"

namespace fb::rdma {

// What a card can do; the figures of ConnectX-7 as ibv_query_device prints them, where a program may run into them.
struct CardLimits {
  uint32_t queue_pairs = 1 << 17;
  uint32_t work_requests = 32768;
  uint32_t pieces = 30;
  uint32_t completion_queues = 1 << 24;
  uint32_t completions = 4194303;
  uint32_t reads = 16;  // outstanding reads and atomics
  uint32_t inline_bytes = 956;
  uint32_t mtu = 4096;
  uint64_t message = uint64_t{1} << 30;
  uint32_t objects = 1 << 18;  // of all kinds together, of one process
};

class Cards final : private PairStates {
 public:
  // `secret`: keys are drawn from it.
  Cards(Surroundings& surroundings, uint32_t cards, const CardLimits& limits, uint64_t secret);
  Cards(const Cards&) = delete;
  Cards& operator=(const Cards&) = delete;

  const CardLimits& limits() const { return limits_; }
  uint32_t count() const { return count_; }

  // Objects. Null out: see the number.
  int make_domain(uint32_t process, uint32_t card, Domain*& made);
  // `identity` 0: one of its own.
  int make_xrc_domain(uint32_t process, uint32_t card, uint64_t identity, XrcDomain*& made);
  bool is_known_xrc(uint32_t card, uint64_t identity) const;
  int make_region(Domain& domain, uint64_t address, uint64_t bytes, uint64_t iova, uint32_t access, Region*& made);
  int make_window(Domain& domain, uint8_t type, Window*& made);
  int make_address(Domain& domain, const Address& address, Address*& made);
  int make_completion_queue(uint32_t process, uint32_t card, uint32_t entries, CompletionQueue*& made);
  int resize(CompletionQueue& queue, uint32_t entries);
  // `xrc` and `cq`: of XRC, both or none.
  int make_shared_receive_queue(Domain& domain, uint32_t work, uint32_t pieces, SharedReceiveQueue*& made,
                                XrcDomain* xrc = nullptr, CompletionQueue* cq = nullptr);
  int set_limit(SharedReceiveQueue& queue, uint32_t limit);
  // `wanted`: as asked for; its granted limits are at least those.
  int make_queue_pair(Domain& domain, const QueuePair& wanted, QueuePair*& made);
  // A receiving queue pair of XRC; and one that there is, for a further process or once more for the same.
  int make_xrc_target(XrcDomain& xrc, QueuePair*& made);
  int open_xrc_target(XrcDomain& xrc, uint32_t number, QueuePair*& opened);
  // The process has opened it. True: others have it still.
  bool close_opened(QueuePair& pair, uint32_t process);
  int modify(QueuePair& pair, const QpAttributes& to, uint32_t mask);

  // EBUSY while others refer to it.
  int destroy(Domain& domain);
  int destroy(XrcDomain& domain);
  int destroy(Region& region);
  int destroy(Window& window);
  int destroy(Address& address);
  int destroy(CompletionQueue& queue);
  int destroy(SharedReceiveQueue& queue);
  int destroy(QueuePair& pair);
  // Everything that the process has.
  void remove_process(uint32_t process);

  template <class T>
  T* find(uint32_t process, uint64_t id) const {
    T* const object = objects_.find<T>(id);
    return object && object->process == process ? object : nullptr;
  }
  // One that it has made or opened.
  QueuePair* find_queue_pair(uint32_t process, uint64_t id) const;

  // Work
  int post(QueuePair& pair, SendWork work) { return requester_.post(pair, std::move(work)); }
  // All of them or none.
  int post(QueuePair& pair, std::vector<SendWork> batch) { return requester_.post(pair, std::move(batch)); }
  int post(QueuePair& pair, ReceiveWork work) { return responder_.post(pair, std::move(work)); }
  int post(SharedReceiveQueue& queue, ReceiveWork work) { return responder_.post(queue, std::move(work)); }
  // At most `most` entries, the oldest ones; -1: the queue was overrun.
  int poll(CompletionQueue& queue, uint32_t most, std::vector<Completion>& into) {
    return completions_.poll(queue, most, into);
  }
  void arm(CompletionQueue& queue, bool solicited_only) { completions_.arm(queue, solicited_only); }

  // To explain why nothing moves: queue pairs whose messages wait, and for what.
  struct Stuck {
    enum class Reason : uint8_t { no_receive, peer_not_ready, no_peer, send_queue_stopped };
    const QueuePair* pair = nullptr;  // the requester
    const QueuePair* peer = nullptr;  // null: there is none
    Reason reason = Reason::no_receive;
    Opcode opcode = Opcode::send;
    uint64_t work_id = 0;
  };
  std::vector<Stuck> stuck() const;
  template <class T>
  using Table = ObjectTable::Table<T>;
  const Table<QueuePair>& pairs() const { return objects_.all<QueuePair>(); }
  const Table<CompletionQueue>& completion_queues() const { return objects_.all<CompletionQueue>(); }
  const Table<SharedReceiveQueue>& shared_receive_queues() const { return objects_.all<SharedReceiveQueue>(); }
  const Table<Region>& regions() const { return objects_.all<Region>(); }
  const std::vector<SentNowhere>& sent_nowhere() const { return responder_.sent_nowhere(); }
  // Null: there is none.
  const QueuePair* find_by_number(uint32_t card, uint32_t number) const { return objects_.find_pair(card, number); }

 private:
  void enter_error(QueuePair& pair, const Failure& why) override;
  void flush(QueuePair& pair) override;
  void reset(QueuePair& pair);

  Surroundings& around_;
  const uint32_t count_;
  const CardLimits limits_;
  uint32_t next_srq_ = 0;
  ObjectTable objects_;
  CardMemory memory_;
  CompletionQueues completions_;
  Responder responder_;
  Requester requester_;
};

}  // namespace fb::rdma
