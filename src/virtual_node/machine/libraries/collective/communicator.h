#pragma once

// Communicators and what their ranks have called. Matching: the k-th collective of each rank of a communicator belongs
// to the k-th of all others; the k-th send of one rank to another to the k-th receive there. Always a rendezvous:
// neither end of a message goes on before the other has come.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/messages.h"
#include "virtual_node/fabric/nccl_model.h"
#include "virtual_node/machine/engine/engine.h"
#include "virtual_node/machine/process/node_memory.h"
#include "virtual_node/machine/process/operation.h"
#include "virtual_node/race/clocks/clock.h"

namespace fb::machine {

struct Process;
struct HostThread;
struct Communicator;
struct CommHandle;
struct Exchange;

// One call of a rank.
struct CollectivePart {
  wire::CollectiveCall call;
  uint64_t number = 0;   // in its sequence, from 1
  uint32_t checked = 0;  // the race detector's agent
  Bytes send, receive, scalar;
  uint64_t send_bytes = 0, receive_bytes = 0;
  uint32_t phase =
      0;  // one-sided calls of a group: puts and signals, then waits, then puts …, as they follow each other
  bool posted = false, done = false;
};

// What one group of a rank calls on one communicator: an operation of its streams.
struct CollectiveLaunch {
  std::weak_ptr<Operation> op;
  std::shared_ptr<Communicator> comm;
  uint32_t rank = 0;
  std::vector<CollectivePart> parts;
  bool ready = false;    // its streams have come to it
  bool started = false;  // … and so has the communicator
  bool over = false;
  std::string dropped;             // why it is over without having taken part
  size_t left = 0;                 // parts that are not done
  uint32_t phases = 0, phase = 0;  // of the one-sided parts: the last, and the one that runs
  size_t phase_left = 0;
  Time at = 0;   // when it started
  Time end = 0;  // of the last part so far
  std::optional<Engine::Residents> residents;
};
using LaunchPtr = std::shared_ptr<CollectiveLaunch>;

struct PostedPart {
  LaunchPtr launch;
  size_t index = 0;
  Time at = 0;

  explicit operator bool() const { return launch != nullptr; }
  CollectivePart& part() const { return launch->parts[index]; }
  const wire::CollectiveCall& call() const { return launch->parts[index].call; }
};

// The calls that belong together. Of a message: [0] sends, [1] receives.
struct Exchange {
  std::vector<PostedPart> posts;
  std::vector<uint32_t> ranks;  // of the posts
  uint64_t number = 0;
  bool message = false;
  bool running = false;
  std::string mismatch;  // why it never begins
};
using ExchangePtr = std::shared_ptr<Exchange>;

struct CommWindowRange {
  uint64_t address = 0, bytes = 0;
  uint64_t round = 0;  // 0: not collective
  bool complete = false;
};

// Signals from one rank to another. They arrive in the order of their calls.
struct SignalBox {
  uint64_t sent = 0;     // issued by the one
  uint64_t arrived = 0;  // at the other
  uint64_t awaited = 0;  // by the calls that the other has issued
  // Behind the last signals, for the race checker: what was done before signal k.
  std::map<uint64_t, race::ClockRef> before;
};

struct CommMember {
  Process* process = nullptr;
  uint32_t device = 0;  // among all
  uint32_t local_device = 0;
  std::shared_ptr<CommHandle> handle;
  bool gone = false;                             // destroyed, aborted, or its process has ended
  std::string gone_why;                          // "has aborted it"
  std::deque<LaunchPtr> queue;                   // issued and not over, in order
  uint64_t collectives = 0;                      // issued
  std::map<uint32_t, uint64_t> sends, receives;  // issued, by peer
  std::map<uint32_t, SignalBox> signals;         // from the peer to this rank
  std::vector<PostedPart> waits;                 // for signals
  std::map<wire::Id, CommWindowRange> windows;
  uint64_t window_rounds = 0, split_rounds = 0, grow_rounds = 0;
  uint64_t suspend_rounds = 0;  // suspended and resumed
  std::map<std::vector<int32_t>, uint64_t> shrink_rounds;
};

struct Communicator {
  uint64_t number = 0;              // in the run, from 1, once it is made; for reports
  uint64_t token = 0;               // of the id; 0: none
  std::vector<CommMember> members;  // by rank
  bool made = false;
  uint32_t most_channels = 0;
  std::map<uint64_t, ExchangePtr> collectives;                                        // by number
  std::map<std::pair<uint32_t, uint32_t>, std::map<uint64_t, ExchangePtr>> messages;  // by {from, to}, then number
  std::deque<std::function<void()>> transfers;  // collectives that wait for the bandwidth of those before them
  bool transferring = false;

  uint32_t ranks() const { return static_cast<uint32_t>(members.size()); }
};

// What a process holds. The communicator is null until it is known: a split decides which ranks are in it.
struct CommHandle {
  std::shared_ptr<Communicator> comm;
  uint32_t rank = 0;
  wire::CommState state = wire::CommState::in_progress;
  wire::Status error = wire::Status::ok;
  Time since = 0;            // of this state
  uint32_t open_rounds = 0;  // windows, suspends and resumes that others still have to join
  bool suspended = false;
  bool finalized = false, revoked = false, aborted = false;
  std::vector<std::shared_ptr<HostThread>> waiting;
  std::string about;  // what it waits for, as users call it: "ncclCommInitRank"
};

}  // namespace fb::machine
