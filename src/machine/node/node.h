#pragma once

// The virtual node: devices, the fabric between them, and the processes that use them. Knows requests and answers, not
// sockets (machine/server does).
//
// Ordering. A request is handled when it arrives; what it changes belongs to its process alone, or is put on a stream
// with the host thread's own virtual time. Nothing is executed then: run() advances the node, and is called only when
// every host thread waits, so that the order in which messages of different processes arrive never matters.

#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/platform.h"
#include "machine/deadlock/write_history.h"
#include "machine/engine.h"
#include "machine/memory_clock.h"
#include "machine/node/checking.h"
#include "machine/node/process.h"
#include "record/run_record.h"
#include "record/trace.h"

namespace fb::machine {

class Judgement;

struct Answer {
  wire::Status status = wire::Status::ok;
  std::vector<std::byte> body, blob;
  int descriptor = -1;     // to be sent; stays the node's
  wire::Descriptor owned;  // to be sent and closed
};

struct Call {
  HostThread* thread = nullptr;
  wire::Kind kind{};
  std::span<const std::byte> body, blob;
  wire::Descriptor descriptor;
};

struct NodeOptions {
  uint64_t seed = 0;  // 0: by time
  // Not by time nor drawn: the first choices of who goes on (ScheduleKind::chosen).
  std::optional<std::vector<uint32_t>> choices = {};
  // Results only: nothing is observed and warps run as they come, so that clocks mean nothing. Not with a seed, choices
  // or a check.
  bool untimed = false;
  bool strict = false;      // 16-byte accesses may tear
  bool check = false;       // look for races
  bool keep_going = false;  // a race does not end the run
  uint32_t weak_lines = 4;  // race::Options
  std::string why = {};     // race::Options
  uint64_t budget = 200'000'000'000;
  uint64_t memory = 0;  // bytes of the host that all devices together may take; 0: half of what the host has
  bool trace = false;
  std::string events;  // a file for every event that the log's hash is made of; empty: none
};

class Node {
 public:
  using Reply = std::function<void(HostThread&, Answer&&)>;
  using Report = std::function<void(record::Incident)>;

  Node(const fabric::Platform& platform, const NodeOptions& options, Reply reply, Report report);
  ~Node();

  // Processes and their threads come and go. `devices` of a process are those of its node.
  Process& add_process(int32_t pid, int32_t rank, int32_t node);
  HostThread& add_thread(Process& process, uint64_t connection, uint32_t id, wire::Purpose purpose);
  void remove_thread(HostThread& thread);
  void remove_process(Process& process);
  const std::vector<std::unique_ptr<Process>>& processes() const { return processes_; }
  const std::vector<std::shared_ptr<HostThread>>& threads() const { return threads_; }

  // From here on the node belongs to a judgement of so many ranks; `connection` is the judge's.
  Judgement& add_judge(uint32_t ranks, uint64_t connection);
  Judgement* judgement() const { return judgement_.get(); }

  // What a process is told when it has said hello.
  Answer welcome(const Process& process) const;

  // Answers, at once or later, through `reply`. A malformed request is answered with invalid_value.
  void handle(Call& call);

  // Advances until a host thread has been answered, or `steps` are done. False: nothing can go on by itself.
  bool run(uint64_t steps);
  bool pass_time() { return engine_.pass_time(); }
  // Host processes may have written to memory that devices watch.
  void look_again();
  bool anything_running() const { return !engine_.runs().empty(); }

  // Everybody waits for ever: who, where, for what.
  std::string explain_deadlock() const;
  bool out_of_budget() const { return engine_.out_of_budget(); }
  // Everything that touched the byte that NodeOptions::why names; empty: it was not asked for.
  std::string history() const;
  // One paragraph about what a process left behind when it ended.
  std::string explain_loss(const Process& process) const;

  uint64_t answers() const { return answers_; }
  // Of the host, by what processes have asked for.
  uint64_t memory_in_use() const { return memory_total_; }
  void mark_not_replayable(const std::string& why);
  void fill(record::RunRecord& record) const;
  // The timeline so far, with the traffic of links; null unless it was asked for.
  const record::Trace* finish_trace();
  uint32_t devices_per_node() const { return devices_per_node_; }

 private:
  friend struct Handlers;
  friend class Judgement;

  struct Token {
    Process* owner = nullptr;
    std::shared_ptr<mem::Allocation> allocation;
    std::shared_ptr<Event> event;
  };
  class ValueWait;
  struct ParsedText;

  // Memory (node/memory.cpp)
  Context& context(Process& process, uint32_t device);
  void map_region(Context& context, const Region& region);
  bool may_touch(const Process& process, uint32_t device, const Region& region) const;
  // Null when there is none left.
  std::shared_ptr<mem::Allocation> take_memory(Process& process, uint32_t device, uint64_t bytes, std::string label);
  std::shared_ptr<mem::Allocation> take_shared(Process& process, uint64_t bytes, std::string label, int descriptor);
  std::shared_ptr<mem::Allocation> count(std::shared_ptr<mem::Allocation> allocation);
  // Null when there are no addresses left.
  Region* add_region(Process& process, Region region);
  bool release_region(Process& process, mem::Address begin);
  void note_free(const Process& process, mem::Address begin);
  void release_regions(Process& process, std::span<const mem::Address> begins);
  // Before unmap_everywhere(): nobody holds bytes of what is unmapped.
  void forget_everywhere(Process& process);
  void unmap_everywhere(Process& process, mem::Address begin);
  bool valid_device(const Process& process, uint32_t device) const;
  uint32_t global_device(const Process& process, uint32_t device) const { return process.first_device + device; }
  std::string describe_for(const Process& process, uint32_t device, mem::Address a) const;
  struct Bytes {
    std::byte* host = nullptr;
    std::shared_ptr<mem::Allocation> allocation;
  };
  struct Box;
  struct Moving;
  void move_rows(std::shared_ptr<Moving> moving);
  Bytes find_bytes(Process& process, mem::Address a, uint64_t size) const;
  static uint64_t offset_of(const Bytes& bytes);
  void has_compared(const Operation& op, const Bytes& bytes, uint32_t size);
  // What a descriptor stands for; null: for nothing that was exported.
  std::shared_ptr<Physical> find_exported(int descriptor) const;
  static wire::Descriptor write_exported(const Physical& physical);

  // Modules (node/modules.cpp)
  LoadedModule* loaded(Process& process, uint32_t device, wire::Id module, std::string* problem);
  void drop_module(Process& process, uint32_t device, wire::Id module);
  void forget_code(const LoadedModule& module);
  std::shared_ptr<const ptx::Module> parse(Process& process, std::string text);
  void note(Process& process, record::IncidentReason reason, std::string text);

  // Work (node/work.cpp)
  Stream* find_stream(Process& process, const wire::StreamRef& ref);
  DefaultStream& default_stream(Process& process, uint32_t device);
  // What is to end before the stream is idle.
  std::vector<OperationPtr> operations_of(Process& process, const wire::StreamRef& ref);
  std::vector<OperationPtr> operations_of_device(Process& process, uint32_t device);
  OperationPtr make_operation(Process& process, uint32_t device, std::string name);
  // From here on it is waited for, and ends with its context or process.
  void adopt(const OperationPtr& op);
  void submit(const OperationPtr& op);
  void enqueue(HostThread& thread, Stream& stream, uint64_t stream_id, const OperationPtr& op);
  wire::Status make_launch(Process& process, const wire::Launch& m, std::span<const std::byte> params, int32_t priority,
                           OperationPtr& op);
  wire::Status make_copy(Process& process, const wire::Copy& m, std::span<const std::byte> blob, OperationPtr& op,
                         std::shared_ptr<std::vector<std::byte>>* read);
  wire::Status make_memset(Process& process, const wire::Memset& m, OperationPtr& op);
  wire::Status make_stream_value(Process& process, const wire::StreamValue& m, bool wait, OperationPtr& op);
  OperationPtr make_callback(Process& process, uint32_t device, uint64_t number);
  wire::Status make_graph(HostThread& thread, Stream& stream, uint64_t stream_id, const Graph& graph);
  void begin_kernel(const OperationPtr& op, std::unique_ptr<GridRun> run);
  bool is_full_of_grids(uint32_t device) const;
  void begin_waiting_kernels(uint32_t device);
  void kernel_ended(const OperationPtr& op, GridRun& run, Outcome&& outcome);
  void break_context(Process& process, uint32_t device, wire::Status status);
  void deliver_callback(Process& process);

  // Host threads
  void hold(Call& call);
  void go_on_with_held(Process& process);
  void answer(HostThread& thread, Answer&& answer);
  void answer_at(HostThread& thread, Time at, Answer&& answer);
  void wait_for(HostThread& thread, std::vector<OperationPtr> operations, uint32_t device,
                std::function<void(Answer&)> finish = {});
  void host_saw(const Process& process, const std::vector<OperationPtr>& ended);
  void spend(HostThread& thread, Time cost) { thread.now += cost; }
  wire::Status sticky_error(const Process& process, uint32_t device) const;
  bool is_permitted(const HostThread& thread, wire::Kind kind) const;
  // Requests of ranks while they are being judged.
  void count_in_run(wire::Kind kind);
  void log(const char* what, std::initializer_list<uint64_t> words);
  void log_call(HostThread& thread, wire::Status status);
  void note_finished(const Operation& op);
  uint64_t log_of_all() const;

  const fabric::Platform platform_;
  const NodeOptions options_;
  Reply reply_;
  Report report_;
  // Before everything that may hold memory: it is counted when it goes.
  std::vector<uint64_t> memory_used_, memory_peak_;
  uint64_t memory_total_ = 0, memory_most_ = 0;
  uint64_t mappings_ = 0;  // of the host's kernel, which has a limit
  fabric::Fabric fabric_;
  WriteHistory writes_;
  MemoryClock clock_;
  Engine engine_;
  Operations operations_;
  std::unique_ptr<Checking> checking_;  // null: nobody looks for races
  uint32_t devices_per_node_ = 0;
  DeviceLimits limits_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::shared_ptr<HostThread>> threads_;
  uint64_t calls_of_gone_ = 0;  // sum of HostThread::calls
  std::unordered_map<uint64_t, Token> tokens_;
  std::map<std::array<uint64_t, 2>, std::weak_ptr<Physical>> exported_;  // by secret
  size_t prune_exported_at_ = 64;
  std::unordered_map<size_t, std::weak_ptr<const ParsedText>> parsed_;  // by hash
  size_t prune_parsed_at_ = 64;
  std::map<uint64_t, std::shared_ptr<ValueWait>> value_waits_;  // by the operation's tie
  std::vector<std::multimap<int32_t, OperationPtr>>
      waiting_kernels_;  // by device: more than it runs at once; by priority
  uint64_t next_grid_ = 1;
  uint64_t answers_ = 0;
  uint64_t faults_ = 0;  // of kernels
  std::map<std::string, uint64_t> calls_in_run_;
  std::FILE* events_ = nullptr;
  uint64_t log_hash_ = 0x9E3779B97F4A7C15u;
  std::string not_replayable_;
  std::map<std::string, uint64_t> unsupported_;
  std::vector<record::DeviceCounters> counters_;
  std::optional<record::Trace> trace_;
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> trace_rows_;  // by process and stream
  const fabric::TrafficLog* traffic_ = nullptr;
  std::unique_ptr<Judgement> judgement_;
};

}  // namespace fb::machine
