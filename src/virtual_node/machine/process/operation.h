#pragma once

// An operation that a host has enqueued; it begins when those before it have ended. Streams, events and graphs only add
// dependency edges between operations.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/wire/messages.h"
#include "common/wire/status.h"
#include "virtual_node/machine/engine/engine.h"
#include "virtual_node/race/clocks/clock.h"

namespace fb::machine {

struct Process;

// What an operation does, for the explanation of deadlocks: it may never come to it.
struct OperationFacts {
  std::shared_ptr<const simt::Grid> grid;  // a kernel's
  uint64_t grid_id = 0;                    // once it has begun
  // Bytes that it writes, or that a stream waits for.
  std::shared_ptr<mem::Allocation> memory;
  uint64_t begin = 0, end = 0;
  bool waits = false;
  wire::Compare compare{};
  uint64_t value = 0;
};

// How a collective operation was done, for traces.
struct CollectiveNote {
  std::string_view algorithm, protocol;
  uint64_t bytes = 0;
  uint32_t channels = 0, ranks = 0;
  double bus_bandwidth = 0;  // in GB/s
};

// The same of an operation of cuBLAS.
struct BlasNote {
  uint32_t tile_m = 0, tile_n = 0, split = 1;
  uint64_t blocks = 0, flop = 0;
  double tflops = 0;
};

// What is looked at where a program has not waited for it, and counted at its end.
enum class WorkKind : uint8_t { other, kernel, library, host_function, copy };

struct Operation {
  Process* process = nullptr;
  uint32_t device = 0;
  uint64_t stream = 0;  // of its process, for traces
  std::string name;
  std::string where;  // "file:line" of the host's call; may be empty
  Time issued = 0;    // the host call has returned
  Time begun = 0, ended = 0;
  bool has_begun = false, has_ended = false;
  bool counted = false;  // among those of its process that have not ended
  uint64_t payload = 0;  // bytes that it carries
  wire::Status status = wire::Status::ok;
  OperationFacts facts;
  uint64_t tie = 0;               // order among operations that begin at the same time
  bool begins_in_memory = false;  // its work reads or writes what kernels see, at once

  WorkKind kind = WorkKind::other;
  bool kernel() const { return kind == WorkKind::kernel; }
  std::string launched_at;  // "file:line" of a kernel's launch, if ranks say so
  bool ran = false;         // a kernel: to its end
  uint64_t launch = 0;      // Grid::id of a kernel that has begun: unlike `facts`, kept behind its end
  bool faulted = false;
  bool of_judge = false;
  uint64_t call = 0;        // Process::call when it was made
  bool joint = false;       // other ranks take part in it
  uint32_t graph_node = 0;  // from 1, in a graph: its own order in time

  // For the race detector: the clock with which it begins, the clock that its successors inherit; its number there.
  race::ClockRef incoming, outgoing;
  uint32_t checked = 0;

  // Does the work and makes sure that finish() is called. Empty: nothing to do.
  std::function<void(const std::shared_ptr<Operation>&)> work;

  // Called once, when it is sure to take its place in its stream.
  std::function<void()> on_issue;
  std::optional<CollectiveNote> collective;
  std::optional<BlasNote> blas;

  uint32_t before = 0;  // operations that it waits for
  std::vector<std::shared_ptr<Operation>> after;
  std::vector<std::function<void()>> on_end;
};

using OperationPtr = std::shared_ptr<Operation>;

// The operation writes `bytes` bytes at `host`, or waits for them. Nothing, where there is no memory of the machine.
void note_target(Operation& op, const std::shared_ptr<mem::Allocation>& memory, const std::byte* host, uint64_t bytes);

class Operations {
 public:
  explicit Operations(Engine& engine) : engine_(&engine) {}

  // `op` waits for `earlier`, if that is still to end. To be called before submit().
  static void order(const OperationPtr& earlier, const OperationPtr& op);
  void submit(const OperationPtr& op);
  // The work has ended at `at`. Idempotent.
  void finish(const OperationPtr& op, Time at, wire::Status status = wire::Status::ok);

  std::function<void(const Operation&)> on_finished;   // for logs and traces
  std::function<void(Operation&)> on_begun, on_ended;  // for the race checker

 private:
  void begin(const OperationPtr& op);

  Engine* engine_;
};

}  // namespace fb::machine
