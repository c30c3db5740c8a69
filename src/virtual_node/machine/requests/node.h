#pragma once

// The virtual node: devices, the fabric between them, and the processes that use them. Knows requests and answers, not
// sockets (virtual_node/machine/server does).
//
// Ordering. A request is handled when it arrives; it changes only state of its own process, or is put on a stream with
// the host thread's own virtual time. Nothing is executed then: run() advances the node, and is called only when every
// host thread waits, so that the order in which messages of different processes arrive never matters.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "virtual_node/machine/process/device_launches.h"
#include "virtual_node/machine/requests/graphs.h"
#include "virtual_node/machine/requests/node_services.h"

namespace fb::machine {

class Node {
 public:
  using Reply = HostThreads::Reply;
  using Report = std::function<void(record::Incident)>;

  Node(const platform::Platform& platform, const NodeOptions& options, Reply reply, Report report);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Process& add_process(int32_t pid, int32_t rank, int32_t node);
  HostThread& add_thread(Process& process, uint64_t connection, uint32_t id, wire::Purpose purpose);
  void remove_thread(HostThread& thread) { HostThreads::remove(thread); }
  // The process stays in processes(), empty: operations may still refer to it.
  void remove_process(Process& process);
  // Before that: reports what it has launched and not waited for, if that is wanted.
  void report_lost_work(const Process& process) { lost_.left(process); }
  bool wants_lost_work() const { return lost_.wanted(); }
  const std::vector<std::unique_ptr<Process>>& processes() const { return processes_; }
  const std::vector<std::shared_ptr<HostThread>>& threads() const { return threads_.all(); }

  // From here on the run is judged by `judge`, which must live as long as the node is used.
  void set_judge(JudgeRequests& judge) { services_.judge = &judge; }
  NodeServices& services() { return services_; }

  uint32_t devices_per_node() const { return platform_.node.devices; }
  // What the devices of a node are, for connections that only ask.
  Answer facts(uint32_t process, uint32_t first_device) const;
  // The answer to hello.
  Answer welcome(const Process& process) const;

  // Answers, at once or later, through `reply`. A malformed request is answered with invalid_value.
  void handle(Call& call);

  // Advances until a host thread has been answered, or `steps` are done. False: nothing can make progress by itself.
  bool run(uint64_t steps);
  bool pass_time() { return engine_.pass_time(); }
  // Host processes may have written to memory that devices watch.
  void look_again() { streams_.look_again(); }
  bool anything_running() const { return !engine_.runs().empty(); }
  bool out_of_budget() const { return engine_.out_of_budget(); }
  uint64_t instructions() const { return engine_.instructions(); }
  // The last run() ended because all that runs are polls.
  bool only_polls() const { return only_polls_; }
  bool polls_in_vain() const { return engine_.polls_in_vain(); }
  // Nothing but polls moves, and the cards have nothing to do: time passes for polls alone.
  bool polls_alone() { return engine_.polls().alone() && verbs_.cards_are_idle(); }
  // The thread waits outside the machine for something that only the machine can send.
  OutsideWait outside_wait(const HostThread& thread) const { return verbs_.outside_wait(thread); }
  // A thread waits for a network card in vain, wherever it does.
  bool waits_for_card() const { return verbs_.blame().has_value(); }
  void sleep_on_polls() { engine_.sleep_on_polls(); }

  // Which warps, streams and host threads wait for ever, and for what.
  // Which kernels run, at which lines, and what they read; those that have ended, too.
  std::string explain_work() const;
  std::string explain_deadlock() const;
  // All accesses to the byte that NodeOptions::why names; empty if none was named.
  std::string history() const;
  // One paragraph about what a process left behind when it ended.
  std::string explain_loss(const Process& process) const;

  uint64_t answers() const { return threads_.answers(); }
  // Of the host, by what processes have asked for.
  uint64_t memory_in_use() {
    exports_.prune();
    return budget_.total();
  }
  void mark_not_replayable(const std::string& why) { log_.mark_not_replayable(why); }
  void fill(record::RunRecord& record) const;
  // The timeline at the end of the run; null unless it was asked for. To be called once. `why`: what ended the run, in
  // a word; empty: not known.
  void finish_events() { log_.finish_events(); }
  const record::Trace* finish_trace(std::string_view why) { return log_.finish_trace(processes_, why); }

 private:
  const platform::Platform platform_;
  const NodeOptions options_;
  const DeviceLimits limits_;
  LostWork lost_;
  const Report report_;
  MemoryBudget budget_;  // before everything that may hold memory, which it counts
  fabric::Fabric fabric_;
  fabric::Network network_;
  WriteHistory writes_;
  MemoryClock clock_;
  Engine engine_;
  std::unique_ptr<Checking> checking_;  // null: no races are looked for
  IpcTokens tokens_;
  PhysicalExports exports_;
  RunLog log_;
  NodeMemory memory_;
  ModuleTable modules_;
  HostThreads threads_;
  NodeServices services_;
  DeviceLaunches launches_;
  StreamScheduler streams_;
  Collectives collectives_;
  BlasOperations blas_;
  Verbs verbs_;
  GraphLauncher graphs_;
  std::vector<std::unique_ptr<Process>> processes_;
  bool only_polls_ = false;
};

}  // namespace fb::machine
