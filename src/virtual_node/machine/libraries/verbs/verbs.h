#pragma once

// Network cards on the virtual node: objects that processes have made (virtual_node/rdma/cards.h), events in virtual
// time, memory of processes, and what host threads hear of it.
//
// Every function but clear() and remove_process() is called inside an event of the engine, at the asking thread's own
// virtual time, so that the order of messages of different processes does not matter.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/unique_fd.h"
#include "virtual_node/fabric/network.h"
#include "virtual_node/machine/deadlock/wait_graph.h"
#include "virtual_node/machine/libraries/verbs/card_events.h"
#include "virtual_node/machine/libraries/verbs/card_order.h"
#include "virtual_node/machine/libraries/verbs/event_pipes.h"
#include "virtual_node/machine/libraries/verbs/host_accesses.h"
#include "virtual_node/machine/process/call.h"
#include "virtual_node/machine/process/services.h"
#include "virtual_node/rdma/cards.h"

namespace fb::machine {

// A thread that reads a descriptor which the machine writes to.
enum class OutsideWait : uint8_t {
  none,     // it does not, as far as is known
  waits,    // there is nothing to read
  is_told,  // there is: it will go on
};

class Verbs final : rdma::Surroundings {
 public:
  explicit Verbs(ProcessServices& node);
  ~Verbs();
  Verbs(const Verbs&) = delete;
  Verbs& operator=(const Verbs&) = delete;

  void remove_process(const Process& process);
  // Waiting threads and events are dropped.
  void clear();

  // Of the process's node.
  std::vector<wire::CardFacts> cards_of(const Process& process) const;
  // `descriptor`: what the process gets with the answer.
  wire::VerbsMade make(Process& process, const wire::VerbsMake& request, UniqueFd& descriptor);
  wire::VerbsResult end(Process& process, const wire::VerbsEnd& request);
  wire::VerbsResult modify(Process& process, const wire::VerbsModify& request);
  wire::VerbsPair query(Process& process, uint64_t id);
  wire::VerbsPosted post(Process& process, const wire::VerbsPost& request, std::span<const std::byte> blob);
  // The send queue is full, and the thread posts again and again: it is answered when something has moved. False: it
  // has not done so for long.
  bool hold_post(HostThread& thread, const wire::VerbsPosted& reply);
  // How long a host thread is interrupted before it posts: in drawn schedules, now and then, for longer than a message
  // takes to the other node and back. What it has yet to post may be missing then.
  Time draw_pause();
  wire::VerbsResult change(Process& process, const wire::VerbsChange& request);
  // Answers the thread, now or later.
  void poll(HostThread& thread, const wire::VerbsPoll& request);

  uint32_t cards() const { return network_.cards(); }
  // Shared with all that crosses nodes.

  // What a thread is about to wait for.
  void note(HostThread& thread, const wire::VerbsNote& note);
  OutsideWait outside_wait(const HostThread& thread) const;
  bool cards_are_idle() { return events_.are_over(); }

  // Why threads that use cards wait for ever; nothing where none does (verbs_deadlock.cpp).
  std::optional<CollectiveBlame> blame() const;
  std::optional<std::string> explain_wait(const HostThread& thread) const;
  // Which cards may write these bytes of a process, and whether they have; empty: none may.
  std::string explain_memory(uint32_t process, uint64_t address) const;

  // Accesses of host code. A look answers the thread, now or later.
  HostAccesses& host_accesses() { return host_accesses_; }
  void look(HostThread& thread, const wire::VerbsLook& request);

 private:
  struct Waiter {
    std::shared_ptr<HostThread> thread;
    wire::VerbsPoll request;
    bool done = false;
    std::optional<wire::VerbsLook> look = {};  // instead of `request`
  };

  // Surroundings
  Time now() const override { return events_.now(); }
  void at(Time time, std::function<void()> call) override { events_.at(time, std::move(call)); }
  void at_unless(Time time, std::function<bool()> is_over, std::function<void()> call) override {
    events_.at_unless(time, std::move(is_over), std::move(call));
  }
  bool read(uint32_t process, uint64_t address, std::span<std::byte> to) override;
  bool write(uint32_t process, uint64_t address, std::span<const std::byte> from) override;
  void touches(uint32_t process, uint64_t address, uint64_t bytes, const rdma::Touch& touch) override;
  Flight fly(uint32_t from, uint32_t to, const Load& load) override;
  bool is_device_memory(uint32_t process, uint64_t address) const override;
  uint64_t draw_order() override;
  Time started(bool inlined, bool from_device) override { return network_.start(now(), inlined, from_device); }
  Time after_message(Time at) override { return network_.after_message(at); }
  std::array<std::byte, 16> gid(uint32_t card) const override;
  void completed(rdma::CompletionQueue& queue) override { wake(queue.process); }
  void notify(rdma::CompletionQueue& queue) override;
  void happened(rdma::AsyncEvent event, const rdma::Object& object) override;

  Process* find_process(uint32_t number) const;
  // Every piece of the range that lies in one piece of the host's memory; false: a part of it is no memory.
  bool for_each_piece(uint32_t process, uint64_t address, uint64_t bytes,
                      const std::function<void(const Bytes&, uint64_t offset, uint64_t size)>& visit);
  static uint64_t guid_of(uint32_t card);
  static uint32_t lid_of(uint32_t card) { return card + 1; }
  uint32_t first_card(const Process& process) const;
  // The card that a path leads to; false: to none.
  bool resolve(const wire::VerbsPath& path, uint32_t& card) const;
  template <class T>
  int end_object(Process& process, uint64_t id);
  int make_pipe(const Process& process, const wire::VerbsMake& m, uint64_t& id, UniqueFd& reader);
  int make_object(Process& process, const wire::VerbsMake& m, wire::VerbsMade& made);
  void tell(uint64_t pipe, const wire::VerbsEvent& event);
  // Something has arrived for this process: its threads that poll look again.
  void wake(uint32_t process);
  void answer_poll(Waiter& waiter);
  void answer_held(uint32_t process);
  void answer_look(Waiter& waiter);
  bool is_as_seen(const HostThread& thread, const wire::VerbsLook& look);
  void wait(HostThread& thread, const std::shared_ptr<Waiter>& waiter);
  // Up to `longest`, in one of so many cases; 0 in all others, and without a seed.
  Time draw_late(uint64_t one_in, Time longest);

  ProcessServices& node_;
  fabric::Network& network_;
  CardEvents events_;
  rdma::Cards cards_;
  CardOrder order_;
  HostAccesses host_accesses_;
  std::map<uint64_t, wire::VerbsLook> vain_looks_;  // the last ones of threads that poll a word, by HostThread::tie
  EventPipes pipes_;
  uint64_t drawn_ = 0;                                                // orders of parts of messages, and delays
  std::map<std::pair<uint32_t, uint32_t>, Time> last_arrivals_;       // from a card, at another
  std::map<uint32_t, std::vector<std::shared_ptr<Waiter>>> waiters_;  // by process
  struct HeldPost {
    std::shared_ptr<HostThread> thread;
    wire::VerbsPosted reply;
  };
  std::map<uint32_t, std::vector<HeldPost>> held_;                  // by process
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> gone_numbers_;  // card and number: of processes that have ended
};

}  // namespace fb::machine
