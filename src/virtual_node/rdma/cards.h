#pragma once

// The network cards of all nodes: their objects, and what becomes of work requests.
//
// Every function is called at Surroundings::now(). Functions that can fail return a number of errno, 0: done.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "virtual_node/rdma/objects.h"
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

class Cards {
 public:
  // `secret`: keys are drawn from it.
  Cards(Surroundings& surroundings, uint32_t cards, const CardLimits& limits, uint64_t secret);
  ~Cards();
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
  T* find(uint32_t process, uint64_t id);
  // One that it has made or opened.
  QueuePair* find_queue_pair(uint32_t process, uint64_t id);

  // Work
  int post(QueuePair& pair, SendWork work);
  // All of them or none.
  int post(QueuePair& pair, std::vector<SendWork> batch);
  int post(QueuePair& pair, ReceiveWork work);
  int post(SharedReceiveQueue& queue, ReceiveWork work);
  // At most `most` entries, the oldest ones; -1: the queue was overrun.
  int poll(CompletionQueue& queue, uint32_t most, std::vector<Completion>& into);
  void arm(CompletionQueue& queue, bool solicited_only);

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
  using Table = std::map<uint64_t, std::unique_ptr<T>>;
  const Table<QueuePair>& pairs() const { return pairs_; }
  const Table<CompletionQueue>& completion_queues() const { return completion_queues_; }
  const Table<SharedReceiveQueue>& shared_receive_queues() const { return shared_; }
  const Table<Region>& regions() const { return regions_; }
  const std::vector<SentNowhere>& sent_nowhere() const { return nowhere_; }
  // Null: there is none.
  const QueuePair* find_by_number(uint32_t card, uint32_t number) const { return find_pair(card, number); }

 private:
  using MessagePtr = std::shared_ptr<const Message>;

  template <class T>
  Table<T>& table();
  template <class T>
  T* add(T object);
  uint32_t new_key();
  QueuePair* find_pair(uint32_t card, uint32_t number) const;
  uint32_t new_number(uint32_t card);
  // The pair is still there: events hold its id.
  QueuePair* alive(uint64_t id) const;

  // Memory (memory.cpp)
  // Whether the pieces are regions of the pair's domain, with these rights.
  bool are_covered(const QueuePair& pair, std::span<const Piece> pieces, uint32_t rights) const;
  bool gather(const QueuePair& pair, const SendWork& work, std::vector<std::byte>& into);
  bool scatter(const QueuePair& pair, std::span<const Piece> pieces, std::span<const std::byte> from,
               const Touch& touch);
  // Where in the process that is what a peer of `pair` names; false: it may not have it.
  bool reach(const QueuePair& pair, const Message& message, uint32_t right, uint64_t& at, bool& relaxed) const;
  Status bind(const QueuePair& pair, const Bind& bind);
  Status invalidate(const QueuePair& pair, uint32_t key);
  void unbind(Window& window);
  // Whether the first piece, or what a message will be written to, is memory of a GPU.
  bool is_on_device(const QueuePair& pair, std::span<const Piece> pieces) const;
  bool lands_on_device(const Message& message) const;

  // Requester (requester.cpp)
  // `ahead`: work that would be posted before it.
  int check(const QueuePair& pair, const SendWork& work, uint64_t ahead = 0) const;
  void serve_soon(QueuePair& pair);
  void serve(QueuePair& pair);
  bool may_send(const QueuePair& pair, const SendEntry& entry) const;
  SendEntry* next_to_send(QueuePair& pair) const;
  void launch(QueuePair& pair, SendEntry& entry);
  SendEntry* entry_of(const MessagePtr& message, QueuePair*& pair) const;
  // Whether nothing is left to be done for this attempt.
  std::function<bool()> settled(const MessagePtr& message) const;
  // It has not been sent again, nor has its queue pair been reset.
  bool is_current(const Message& message) const;
  void lost(const MessagePtr& message);
  // For reports: the message was not delivered at the queue pair that it was for; or there is none.
  void note_drop(QueuePair& at, const Message& message, Drop why);
  void note_nowhere(const Message& message);
  void receiver_not_ready(const MessagePtr& message, Time retry_after);
  void out_of_sequence(const MessagePtr& message, uint32_t expected);
  void acknowledge(const MessagePtr& message, Status status, std::span<const std::byte> data);
  void settle(QueuePair& pair, SendEntry& entry, Status status);
  void retire(QueuePair& pair);
  void complete(QueuePair& pair, const SendEntry& entry);
  void go_back(QueuePair& pair, uint64_t index);
  void note_drained(QueuePair& pair);

  // Landing (landing.cpp)
  // Between the arrival of its first byte and that of its last.
  void plan_landing(const std::shared_ptr<Message>& message, Time first, Time last);
  void land_part(const MessagePtr& message, uint32_t part);
  void tell_landing(const QueuePair& pair, const Message& message, uint64_t at, bool relaxed);
  bool write_part(const QueuePair& pair, const Message& message, uint32_t part, uint64_t at);
  bool land_rest(const QueuePair& pair, const Message& message, uint64_t at);

  // Responder (responder.cpp)
  // Whether nothing but its key can keep the pair from executing a write that is arriving.
  bool would_take(const QueuePair& pair, const Message& message) const;
  void arrive(const MessagePtr& message);
  void arrive_reliable(QueuePair& pair, const MessagePtr& message);
  // XRC: what the message names. False: there is none.
  bool adopt(QueuePair& pair, const Message& message);
  void forget_adopted(QueuePair& pair);
  void arrive_unreliable(QueuePair& pair, const MessagePtr& message);
  void repeat(QueuePair& pair, const MessagePtr& message);
  void answer(QueuePair& pair, const MessagePtr& message, Status status, std::vector<std::byte> data);
  Status execute(QueuePair& pair, const Message& message, std::vector<std::byte>& data);
  bool has_receive(const QueuePair& pair) const;
  ReceiveWork take_receive(QueuePair& pair);
  // Into the next receive of the pair, which completes.
  Status receive(QueuePair& pair, const Message& message);
  void starve(QueuePair& pair, const MessagePtr& message);
  void forget_starved(QueuePair& pair);
  void feed(QueuePair& pair);
  Time rnr_delay(const QueuePair& pair) const;

  // States and completions (states.cpp)
  void enter_error(QueuePair& pair, const Failure& why);
  void abandon_starved(QueuePair& pair);
  void flush(QueuePair& pair);
  void reset(QueuePair& pair);
  void push(CompletionQueue& queue, const Completion& entry, bool solicited);

  // Bytes of payload that messages hold. Those that outlive the cards still count.
  std::shared_ptr<uint64_t> under_way_ = std::make_shared<uint64_t>(0);
  Surroundings& around_;
  const uint32_t count_;
  const CardLimits limits_;
  const uint64_t secret_;
  uint64_t next_id_ = 1, next_key_ = 1;
  uint32_t next_number_ = 0, next_srq_ = 0;
  Table<Domain> domains_;
  Table<XrcDomain> xrc_domains_;
  Table<Region> regions_;
  Table<Window> windows_;
  Table<Address> addresses_;
  Table<CompletionQueue> completion_queues_;
  Table<SharedReceiveQueue> shared_;
  Table<QueuePair> pairs_;
  std::map<std::pair<uint32_t, uint32_t>, QueuePair*> by_number_;  // card and number
  std::map<uint32_t, Region*> region_by_key_;
  std::map<uint32_t, Window*> window_by_key_;
  std::map<uint32_t, uint32_t> objects_;  // by process
  std::vector<SentNowhere> nowhere_;      // the first few
};

}  // namespace fb::rdma
