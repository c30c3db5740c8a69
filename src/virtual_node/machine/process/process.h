#pragma once

// A process of the host that uses the node, and everything it has asked for. Handles are numbers of its own.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/channel.h"
#include "common/wire/messages.h"
#include "virtual_node/machine/process/context.h"
#include "virtual_node/machine/process/operation.h"
#include "virtual_node/mem/address_space.h"

namespace fb::machine {

// Memory for allocation in stream order: all of it is accessible to the same devices.
struct Pool {
  uint32_t device = 0;  // of the process's node
  std::set<uint32_t> others;
};

// Memory that a process has at an address.
struct Region {
  mem::Address begin = 0;
  uint64_t bytes = 0;
  wire::MemoryKind kind = wire::MemoryKind::device;
  std::shared_ptr<mem::Allocation> allocation;
  std::shared_ptr<Pool> pool;  // in stream order: decides about access, and peers do not
  uint32_t opened_on = 0;      // imported: the device for which it was opened
  uint32_t opened = 0;         // imported: how often it was opened
  uint64_t token = 0;          // IPC token, if it was imported or exported
  bool of_judge = false;       // the process may use it but not free it
};

struct CommHandle;
struct HostThread;

// A request that is handled again later: when fewer operations are queued, or a multicast object is complete.
struct HeldCall {
  std::shared_ptr<HostThread> thread;
  wire::Kind kind{};
  std::vector<std::byte> body, blob;
};

// The object of a physical handle: memory or a multicast object. Several processes may hold it.
struct Physical {
  uint64_t bytes = 0;
  int32_t device = 0;
  uint32_t shareable = 0;     // wire::kAsDescriptor, wire::kAsFabricHandle
  uint64_t fabric_token = 0;  // 0: not exported so
  std::shared_ptr<mem::Allocation> allocation;
  std::shared_ptr<mem::Multicast> multicast;
  uint32_t multicast_devices = 0;  // how many are to be added
  std::vector<HeldCall> binds;     // that wait for the last of them
};

struct Mapping {
  uint64_t bytes = 0, offset = 0;
  std::shared_ptr<Physical> physical;
  std::map<int32_t, wire::Access> access;  // by device; -1: the host
};

struct Stream {
  uint32_t device = 0;
  bool non_blocking = false;
  int32_t priority = 0;
  OperationPtr last;
};

// The default stream of a device.
struct DefaultStream : Stream {
  std::set<wire::Id> unjoined;  // blocking streams with operations that it has not waited for
};

// The last operation of a stream that was destroyed before it ended.
struct Orphan {
  uint32_t device = 0;
  bool unjoined = false;  // the default stream is to wait for it
  OperationPtr work;
};

struct Event {
  uint32_t device = 0;
  bool timing = true;
  bool shareable = false;
  OperationPtr recorded;  // null: never
  uint64_t token = 0;     // IPC token; 0: not exported
};

struct Module {
  std::string text;  // until it is complete
  uint64_t bytes = 0;
  bool complete = false;
  bool linked = false;     // one of the two texts of a DriverLink: both are the same code and variables
  bool of_driver = false;  // … and of these, the driver's are meant
  std::shared_ptr<const ptx::Module> parsed;
  std::map<uint32_t, LoadedModule::Storage> managed;  // by variable of `parsed`
};

struct Function {
  wire::Id module = 0;
  std::string name;
};

struct GraphOperation {
  wire::Kind kind = wire::Kind::none;
  std::vector<std::byte> body, blob;
  std::vector<uint32_t> dependencies;
};

struct Graph {
  std::vector<GraphOperation> nodes;
  uint64_t bytes = 0;
  bool complete = false;
  uint32_t first_number = 1;  // of its operations (Operation::graph_node), where it is a body
  // By node: the bodies of a conditional node.
  std::map<uint32_t, std::vector<std::shared_ptr<const Graph>>> bodies;
};
using GraphRef = std::shared_ptr<const Graph>;

// Allocations are numbered uniquely across processes: the process's number times this, plus a count.
inline constexpr uint32_t kAllocationsEach = 1'000'000;

inline constexpr uint64_t kMostKept = 64 << 20;  // bytes of modules and graphs of a process

// A thread of the process with its own connection. Operations that will answer it keep it alive.
struct HostThread : std::enable_shared_from_this<HostThread> {
  uint64_t connection = 0;
  uint32_t id = 0;  // in the system
  Process* process = nullptr;
  wire::Purpose purpose = wire::Purpose::calls;
  Time now = 0;
  uint64_t tie = 0;  // order among threads that act at the same time
  bool gone = false;
  bool waiting = false;                 // has an unanswered request
  wire::Kind request{};                 // the last one
  bool in_library = false;              // computes for one of our libraries until the next request
  std::vector<OperationPtr> waits_for;  // operations that the request waits for
  uint64_t calls = 0;                   // hash of them
  uint32_t polls = 0;                   // unsuccessful queries in a row
  uint32_t clock_readings = 0;          // in a row
  wire::VerbsNote note;                 // what it waits for outside the machine
  // The completion queues that it polls in vain, and at which lines.
  struct PolledQueue {
    uint64_t queue = 0;
    std::string where;
  };
  std::vector<PolledQueue> polled;
  uint32_t full_posts = 0;  // posts to a full send queue, in a row

  fabric::ShareLedger* shares = nullptr;

  // Virtual time that a call takes on the host.
  void spend(Time cost) { now = shares->later(now, cost, platform::Group::launch); }
};

// Everything that a process has asked for.
struct ProcessState {
  std::map<uint32_t, std::unique_ptr<Context>> contexts;  // by device

  std::map<mem::Address, Region> regions;
  std::map<std::pair<uint64_t, uint32_t>, mem::Address> imported;  // by token and device
  std::map<mem::Address, uint64_t> reserved;
  std::map<mem::Address, Mapping> mappings;
  std::set<std::pair<uint32_t, uint32_t>> peers;  // {device, peer that it may access}
  std::map<wire::Id, std::shared_ptr<Physical>> physical;
  std::map<wire::Id, uint32_t> physical_references;
  std::map<wire::Id, Module> modules;
  std::map<wire::Id, Function> functions;
  std::map<std::pair<wire::Id, std::string>, wire::Id> function_ids;  // by module and name
  std::map<wire::Id, Stream> streams;
  std::map<uint32_t, DefaultStream> default_streams;  // by device
  std::vector<Orphan> orphans;
  std::map<wire::Id, std::shared_ptr<Event>> events;
  std::map<wire::Id, std::shared_ptr<Graph>> graphs;
  std::map<uint64_t, uint32_t> conditionals;      // values of handles of conditional nodes
  uint32_t next_body_number = uint32_t{1} << 20;  // Graph::first_number
  std::map<wire::Id, std::shared_ptr<Pool>> pools;
  std::map<uint32_t, std::shared_ptr<Pool>> default_pools;  // by device
  std::map<wire::Id, std::shared_ptr<CommHandle>> comms;

  std::deque<std::pair<uint64_t, OperationPtr>> callbacks;  // to be run
  OperationPtr callback;                                    // that runs
  HostThread* callback_thread = nullptr;                    // waits for one

  std::string output;                 // of kernels, not yet delivered
  std::vector<OperationPtr> pending;  // operations, among them all that have not ended
  size_t prune_at = 64;               // when to drop those that have ended
  uint64_t live = 0;                  // operations that have not ended
  uint64_t payload = 0;               // bytes that these carry
  std::vector<HeldCall> held;
  uint64_t kept_bytes = 0;  // of modules and graphs
  uint64_t refused = 0;     // requests in a row that failed for want of memory
  uint32_t notes = 0;       // about its mistakes, so far
  bool has_shared_memory = false;
};

struct Process : ProcessState {
  uint32_t number = 0;  // the rank, if it has one: the same in every run
  int32_t pid = 0;
  int32_t rank = -1;
  uint32_t first_device = 0;  // of its node
  bool gone = false;

  mem::AddressSpace all;  // all its memory, whichever device may access it

  wire::Id next_id = 1;
  uint32_t next_allocation = 1;
  uint64_t next_operation = 1;
  uint64_t next_thread = 0;
  uint64_t call = 0;  // of run, that its host is in or was in last, from 1; 0: none, or nothing is judged

  // Releases everything that it has; operations may still refer to the process.
  void reset() {
    static_cast<ProcessState&>(*this) = ProcessState();
    all.clear();
  }

  // A limit on the number of all objects that a process can make.
  bool may_make_more() const {
    constexpr size_t kMost = 1 << 18;
    return regions.size() + reserved.size() + mappings.size() + physical.size() + modules.size() + functions.size() +
               streams.size() + events.size() + graphs.size() + pools.size() + comms.size() <
           kMost;
  }
};

// A device of the process, among all devices of all nodes.
inline uint32_t global_device(const Process& process, uint32_t device) { return process.first_device + device; }

// After a fault on the device every call of the process gets this.
inline wire::Status sticky_error(const Process& process, uint32_t device) {
  const auto found = process.contexts.find(device);
  return found == process.contexts.end() ? wire::Status::ok : found->second->sticky_error;
}

// For messages to users.
std::string name_of(const Process& process);

// A tie-breaker that does not depend on the order in which processes connected.
inline uint64_t tie_of(const Process& process, uint64_t number) { return uint64_t{process.number} << 40 | number; }

}  // namespace fb::machine
