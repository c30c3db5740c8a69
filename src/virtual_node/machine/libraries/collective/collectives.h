#pragma once

// Collective operations: they begin when all their ranks have come to them in stream order, take the time that the
// model of NCCL says, share links, memories and multiprocessors with everything else meanwhile, and write their results
// at the end.
//
// Order. The work of one rank before a collective happens before the work of another behind it where data went from
// the one to the other, and nowhere else: all ranks to all, the root to all, all to the root, a sender to its receiver.
// Calls of one group are concurrent. Operations of one communicator on one device run one after the other, in the order
// in which they were issued, whatever their streams; that orders nothing for the race checker, because NCCL does not
// promise it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "virtual_node/machine/deadlock/causes.h"
#include "virtual_node/machine/libraries/collective/communicator.h"
#include "virtual_node/machine/process/call.h"
#include "virtual_node/machine/process/process.h"
#include "virtual_node/machine/process/services.h"

namespace fb::machine {

class Collectives {
 public:
  explicit Collectives(ProcessServices& node) : node_(node) {}

  // Communicators (communicators.cpp)
  // Of a communicator, or with its handle the one by which it grows.
  wire::Status make_id(Process& process, wire::Id parent, wire::CommId& id);
  wire::Status create(HostThread& thread, const wire::CommCreate& m, std::span<const std::byte> excluded,
                      wire::Id& made);
  // Answers when nothing is in progress any more.
  wire::Status wait(HostThread& thread, wire::Id id);
  wire::Status facts(const Process& process, wire::Id id, wire::CommFacts& facts) const;
  wire::Status end(HostThread& thread, const wire::CommEnd& m);
  wire::Status set_window(HostThread& thread, const wire::CommWindow& m, wire::Id& window);
  void remove_process(Process& process);
  // Before the node is destroyed: breaks cycles.
  void clear();

  // Operations (collectives.cpp)
  wire::Status make(Process& process, const wire::Collective& m, std::span<const std::byte> blob, OperationPtr& op);
  // How long the calls would take, alone.
  wire::Status estimate(Process& process, const wire::Collective& m, std::span<const std::byte> blob, Time& time);

  // Deadlocks (collective_deadlock.cpp)
  std::optional<CollectiveBlame> blame() const;
  std::optional<std::string> explain_wait(const HostThread& thread) const;

 private:
  struct SplitRound {
    std::shared_ptr<Communicator> parent;
    std::vector<std::shared_ptr<CommHandle>> handles;  // by rank of the parent; null: has not called
    std::vector<int32_t> colors, keys;
    std::vector<uint32_t> most_channels;
    Time latest = 0;
  };

  // A communicator that more ranks join: the k-th grow of each rank of the parent belong together, and the id is its.
  struct GrowRound {
    std::shared_ptr<Communicator> parent;
    uint64_t token = 0;               // 0: no rank has asked for an id yet
    std::vector<CommMember> members;  // by rank; empty until the first has come
    uint32_t most_channels = 0;
    Time latest = 0;
  };
  using GrowKey = std::pair<const Communicator*, uint64_t>;

  CommHandle* find(const Process& process, wire::Id id) const;
  wire::Status join(HostThread& thread, const wire::CommCreate& m, const std::shared_ptr<CommHandle>& handle);
  wire::Status split(HostThread& thread, const wire::CommCreate& m, const std::shared_ptr<CommHandle>& handle);
  wire::Status shrink(HostThread& thread, const wire::CommCreate& m, std::span<const std::byte> excluded,
                      const std::shared_ptr<CommHandle>& handle);
  wire::Status grow(HostThread& thread, const wire::CommCreate& m, const std::shared_ptr<CommHandle>& handle);
  void finish_growing(const GrowKey& key, Time at);
  wire::Status rest(HostThread& thread, CommHandle& handle, bool suspend);
  void split_up(Communicator& parent, SplitRound& round, Time at);
  void complete(const std::shared_ptr<Communicator>& comm, Time at);
  void set_state(CommHandle& handle, wire::CommState state, wire::Status error, Time at);
  static bool in_progress(const CommHandle& handle);
  void answer_waiting(CommHandle& handle, Time at);
  void give_up(const std::shared_ptr<Communicator>& comm, uint32_t rank, const std::string& why, Time at);
  void leave(Communicator& comm, uint32_t rank, const std::string& why);
  void add(const std::shared_ptr<Communicator>& comm);
  void prune();

  wire::Status read_calls(Process& process, const wire::Collective& m, std::span<const std::byte> blob,
                          CollectiveLaunch& launch) const;
  void issue(const LaunchPtr& launch);
  void start_next(const std::shared_ptr<Communicator>& comm, uint32_t rank);
  void start(const LaunchPtr& launch);
  bool find_buffers(CollectiveLaunch& launch, std::string& fault);
  void find_target(const CollectiveLaunch& launch, CollectivePart& part, std::string& fault) const;
  void post(const LaunchPtr& launch);
  // One-sided calls (one_sided.cpp)
  void start_phase(const LaunchPtr& launch);
  void put(const LaunchPtr& launch, std::shared_ptr<std::deque<size_t>> in_order, race::ClockRef before);
  void deliver(const LaunchPtr& launch, size_t index, const race::ClockRef& before, race::ClockRef& after);
  void check_waits(const std::shared_ptr<Communicator>& comm, uint32_t rank, Time at);
  void arrive(const LaunchPtr& launch, size_t index);
  void begin(const std::shared_ptr<Communicator>& comm, const ExchangePtr& exchange);
  void transfer(const std::shared_ptr<Communicator>& comm, const ExchangePtr& exchange, fabric::NcclChoice choice,
                Time at);
  void finish(const std::shared_ptr<Communicator>& comm, const ExchangePtr& exchange, const fabric::NcclChoice& choice,
              Time at);
  void write_results(const std::shared_ptr<Communicator>& comm, const ExchangePtr& exchange,
                     const fabric::NcclChoice& choice, Time at);
  void note_accesses(const Exchange& exchange);
  void note_order(const Exchange& exchange);
  void part_done(const PostedPart& post, Time at);
  void end_launch(const LaunchPtr& launch);
  fabric::NcclQuestion question_of(const Communicator& comm, const wire::CollectiveCall& call) const;
  bool in_windows(const Communicator& comm, const Exchange& exchange) const;
  void drop(const LaunchPtr& launch, const std::string& why);

  ProcessServices& node_;
  std::map<uint64_t, std::shared_ptr<Communicator>> joining_;  // by token
  std::vector<std::weak_ptr<Communicator>> all_;
  std::map<std::pair<const Communicator*, uint64_t>, SplitRound> splits_;
  std::map<std::tuple<const Communicator*, std::vector<int32_t>, uint64_t>, SplitRound> shrinks_;
  std::map<GrowKey, GrowRound> growths_;
  std::map<uint64_t, GrowKey> growths_by_token_;
  uint64_t next_number_ = 1;
  size_t prune_at_ = 64;
};

// "ncclAllReduce of 1024 f32 (sum)", and with the line of the call.
std::string name_without_line(const wire::CollectiveCall& call);
std::string describe(const wire::CollectiveCall& call);

}  // namespace fb::machine
