#pragma once

// Streams and the operations on them: kernels, copies, memsets, values and callbacks. An operation is made
// first, which checks it and has no effect, and then enqueued.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "virtual_node/machine/engine/launch.h"
#include "virtual_node/machine/process/device_runtimes.h"
#include "virtual_node/machine/process/operation.h"
#include "virtual_node/machine/process/process.h"
#include "virtual_node/machine/process/services.h"

namespace fb::machine {

class StreamScheduler {
 public:
  StreamScheduler(ProcessServices& node, DeviceRuntimes& launches);

  // Null: the process has no such stream.
  Stream* find_stream(Process& process, const wire::StreamRef& ref);
  static DefaultStream& default_stream(Process& process, uint32_t device);
  // What must end before the stream is idle.
  static std::vector<OperationPtr> operations_of(Process& process, const wire::StreamRef& ref);
  static std::vector<OperationPtr> operations_of_device(Process& process, uint32_t device);

  static OperationPtr make_operation(Process& process, uint32_t device, std::string name);
  wire::Status make_launch(Process& process, const wire::Launch& m, std::span<const std::byte> params, int32_t priority,
                           OperationPtr& op);
  // A grid that was checked.
  OperationPtr make_grid_operation(Process& process, uint32_t device, const LoadedModule& module,
                                   const std::shared_ptr<simt::Grid>& grid, int32_t priority);
  static wire::Status status_of(const LaunchProblem& problem);
  // Whether the kernel may have so much dynamic shared memory.
  bool allows_shared(Process& process, uint32_t device, wire::Id module, const simt::Grid& grid);
  // `read` gets the bytes of a copy to pageable memory; null where there may be none.
  wire::Status make_copy(Process& process, const wire::Copy& m, std::span<const std::byte> blob, OperationPtr& op,
                         std::shared_ptr<std::vector<std::byte>>* read);
  wire::Status make_memset(Process& process, const wire::Memset& m, OperationPtr& op);
  wire::Status make_stream_value(Process& process, const wire::StreamValue& m, bool wait, OperationPtr& op);
  OperationPtr make_callback(Process& process, uint32_t device, uint64_t number);

  // Behind everything that the stream orders before it.
  void enqueue(HostThread& thread, Stream& stream, uint64_t stream_id, const OperationPtr& op);
  // From here on it is waited for, and ends with its context or process.
  void adopt(const OperationPtr& op, bool of_host = true);
  // Outside of streams: behind what Operations::order() said.
  void submit(const OperationPtr& op);
  // … and not on behalf of a host: a part of another operation.
  void submit_part(const OperationPtr& op);
  void finish(const OperationPtr& op, Time at, wire::Status status = wire::Status::ok) {
    operations_.finish(op, at, status);
  }

  // A fault of an operation that is no kernel: all operations of the context end.
  void fail(Process& process, uint32_t device, wire::Status status) { break_context(process, device, status); }

  // Hands the process's next callback to its callback thread, if that waits.
  void deliver_callback(Process& process);
  // Host processes may have written to memory that streams wait for.
  void look_again();
  // Before a process is reset: ends all its operations. Streams of other processes that wait for its events continue.
  void end_all_of(Process& process);
  // Before the node is destroyed: breaks the cycles between operations.
  void clear(const std::vector<std::unique_ptr<Process>>& processes);

 private:
  class ValueWait;
  struct Moving;

  void move_rows(std::shared_ptr<Moving> moving);
  void has_compared(const Operation& op, const Bytes& bytes, uint32_t size);
  void begin_kernel(const OperationPtr& op, std::unique_ptr<GridRun> run);
  void kernel_ended(const OperationPtr& op, GridRun& run, Outcome&& outcome);
  bool is_full_of_grids(uint32_t device) const;
  void begin_waiting_kernels(uint32_t device);
  void break_context(Process& process, uint32_t device, wire::Status status);

  ProcessServices& node_;
  Operations operations_;
  std::map<uint64_t, std::shared_ptr<ValueWait>> value_waits_;         // by the operation's tie
  std::vector<std::multimap<int32_t, OperationPtr>> waiting_kernels_;  // by device, then priority: no grid slot is free
  uint64_t next_grid_ = 1;
  DeviceRuntimes& launches_;
};

}  // namespace fb::machine
