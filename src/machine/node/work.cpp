// Operations on streams; kernels and callbacks.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/demangle.h"
#include "machine/launch.h"
#include "machine/node/node.h"

namespace fb::machine {
namespace {

using wire::Status;

constexpr uint64_t kWorkspaceBytes = 256;
constexpr uint32_t kDefaultDynamicShared = 48 * 1024;
constexpr size_t kMostResidentGrids = 128;  // of a device (CUDA programming guide, technical specifications)

Status status_of(const LaunchProblem& problem) {
  switch (problem.kind) {
    case LaunchProblem::Kind::no_kernel:
      return Status::invalid_device_function;
    case LaunchProblem::Kind::configuration:
      return Status::invalid_configuration;
    case LaunchProblem::Kind::resources:
      return Status::launch_out_of_resources;
    case LaunchProblem::Kind::shared_memory:
      return Status::invalid_value;
    case LaunchProblem::Kind::cluster:
      return Status::invalid_configuration;
    case LaunchProblem::Kind::params:
      return Status::invalid_value;
    case LaunchProblem::Kind::cooperative:
      return Status::cooperative_launch_too_large;
  }
  return Status::unknown;
}

Status status_of(simt::TrapKind kind) {
  switch (kind) {
    case simt::TrapKind::misaligned:
      return Status::misaligned_address;
    case simt::TrapKind::guest_assert:
      return Status::assert_failed;
    case simt::TrapKind::out_of_bounds:
    case simt::TrapKind::null_pointer:
    case simt::TrapKind::use_after_free:
      return Status::illegal_address;
    default:
      return Status::launch_failure;
  }
}

}  // namespace

OperationPtr Node::make_operation(Process& process, uint32_t device, std::string name) {
  auto op = std::make_shared<Operation>();
  op->process = &process;
  op->device = global_device(process, device);
  op->name = std::move(name);
  op->tie = tie_of(process, process.next_operation++);
  return op;
}

void Node::adopt(const OperationPtr& op) {
  Process& process = *op->process;
  if (process.pending.size() >= process.prune_at) {
    std::erase_if(process.pending, [](const OperationPtr& w) { return w->has_ended; });
    process.prune_at = std::max<size_t>(64, process.pending.size() * 2);
  }
  process.pending.push_back(op);
  if (checking_) checking_->issued(*op, !judgement_);
  op->counted = true;
  ++process.live;
  process.payload += op->payload;
}

void Node::submit(const OperationPtr& op) {
  adopt(op);
  operations_.submit(op);
}

// The default stream waits for all blocking streams of its device and they wait for it.
void Node::enqueue(HostThread& thread, Stream& stream, uint64_t stream_id, const OperationPtr& op) {
  Process& process = *thread.process;
  op->stream = stream_id;
  op->issued = std::max(op->issued, thread.now);
  Operations::order(stream.last, op);
  if (stream_id == 0) {
    // Each of them once: what this operation has waited for, those behind it need not.
    for (const wire::Id id : std::exchange(default_stream(process, stream.device).unjoined, {}))
      Operations::order(process.streams.at(id).last, op);
    std::erase_if(process.orphans, [](const Orphan& o) { return o.work->has_ended; });
    for (Orphan& orphan : process.orphans) {
      if (orphan.device == stream.device && std::exchange(orphan.unjoined, false)) Operations::order(orphan.work, op);
    }
  } else if (!stream.non_blocking) {
    DefaultStream& legacy = default_stream(process, stream.device);
    Operations::order(legacy.last, op);
    legacy.unjoined.insert(stream_id);
  }
  stream.last = op;
  submit(op);
}

// --- Kernels
// ----------------------------------------------------------------------------------------------------------

Status Node::make_launch(Process& process, const wire::Launch& m, std::span<const std::byte> params, int32_t priority,
                         OperationPtr& op) {
  const uint32_t device = m.stream.device;
  const auto function = process.functions.find(m.function);
  if (function == process.functions.end()) return Status::invalid_device_function;
  if (const Status s = sticky_error(process, device); s != Status::ok) return s;
  const LoadedModule* module = loaded(process, device, function->second.module, nullptr);
  if (!module) return Status::invalid_device_function;
  LaunchRequest request;
  request.kernel = function->second.name;
  request.grid = {m.grid[0], m.grid[1], m.grid[2]};
  request.block = {m.block[0], m.block[1], m.block[2]};
  const bool cluster = m.cluster[0] != 0;
  if (cluster) request.cluster = {m.cluster[0], m.cluster[1], m.cluster[2]};
  request.dynamic_shared_bytes = m.dynamic_shared_bytes;
  request.cooperative = (m.flags & wire::kCooperative) != 0;
  request.params.assign(params.begin(), params.end());
  auto grid = make_grid(*module, request, limits_);
  if (!grid) return status_of(grid.error());
  Context& c = context(process, device);
  const auto limit = c.dynamic_shared_limit.find({function->second.module, function->second.name});
  const uint64_t most =
      limit != c.dynamic_shared_limit.end()
          ? limit->second
          : kDefaultDynamicShared - std::min(kDefaultDynamicShared, grid->kernel->static_shared_bytes);
  if (m.dynamic_shared_bytes > most) return Status::invalid_value;
  if (grid->kernel->local_bytes != 0) {
    // Of all threads that can be resident.
    const BlockNeeds needs = needs_of(*grid, limits_);
    const uint64_t blocks = std::min(grid->grid.count(), SmSlots(limits_).capacity(needs));
    if (blocks * needs.threads * grid->kernel->local_bytes > memory_most_ - memory_total_) return Status::out_of_memory;
  }
  grid->explicit_cluster |= cluster;
  op = make_operation(process, device, demangle(function->second.name));
  op->kernel = true;
  auto shared_grid = std::make_shared<simt::Grid>(std::move(*grid));
  op->payload = params.size();
  op->facts.grid = shared_grid;
  op->work = [this, &process, device, priority, shared_grid,
              source = module->share_source()](const OperationPtr& self) {
    if (is_full_of_grids(self->device)) {
      waiting_kernels_[self->device].emplace(priority, self);
      return;
    }
    auto run = std::make_unique<GridRun>();
    run->grid = *shared_grid;
    run->grid.id = next_grid_++;
    run->gpu = self->device;
    run->priority = priority;
    run->environment = &context(process, device);
    if (!options_.untimed) run->listener = checking_ ? &checking_->listener() : &clock_;
    if (checking_) checking_->detector().begin_grid(run->grid.id, self->checked);
    const simt::FunctionInfo& kernel = *run->grid.kernel;
    writes_.note_grid({run->grid.id, run->gpu, process.number, kernel.name, 0, false, source, kernel.index,
                       run->grid.params, kernel.param_offsets});
    begin_kernel(self, std::move(run));
  };
  return Status::ok;
}

void Node::begin_kernel(const OperationPtr& op, std::unique_ptr<GridRun> run) {
  Process& process = *op->process;
  const uint32_t device = op->device - process.first_device;
  if (run->grid.cooperative) {
    // Words of the grid barrier, zeroed. Few enough not to be counted.
    Region region;
    region.bytes = kWorkspaceBytes;
    region.kind = wire::MemoryKind::unknown;
    region.allocation = mem::allocate(process.next_allocation++, op->device, kWorkspaceBytes, "grid workspace");
    const Region* added = add_region(process, std::move(region));
    if (!added) return break_context(process, device, Status::out_of_memory);
    run->grid.workspace = added->begin;
  }
  run->start = op->begun + platform_.kernel.start;
  run->on_end = [this, op](GridRun& ended, Outcome&& outcome) { kernel_ended(op, ended, std::move(outcome)); };
  log("begin of kernel", {op->device, static_cast<uint64_t>(process.rank), run->grid.id, op->begun});
  ++counters_[op->device].kernels;
  op->facts.grid_id = run->grid.id;
  engine_.launch(std::move(run));
}

bool Node::is_full_of_grids(uint32_t device) const {
  const auto here = std::ranges::count(engine_.runs(), device, [](const auto& r) { return r->gpu; });
  return static_cast<size_t>(here) >= kMostResidentGrids;
}

void Node::begin_waiting_kernels(uint32_t device) {
  auto& waiting = waiting_kernels_[device];
  while (!waiting.empty() && !is_full_of_grids(device)) {
    const OperationPtr op = std::move(waiting.begin()->second);
    waiting.erase(waiting.begin());
    if (op->has_ended) continue;
    op->begun = std::max(op->begun, engine_.acting_time());
    const auto work = op->work;
    work(op);
  }
}

void Node::kernel_ended(const OperationPtr& op, GridRun& run, Outcome&& outcome) {
  Process& process = *op->process;
  if (run.grid.workspace != 0) release_region(process, run.grid.workspace);
  counters_[op->device].instructions += run.instructions;
  log("end of kernel", {op->device, run.grid.id, run.instructions, run.end});
  writes_.note_grid_end(run.grid.id);
  const Time at = run.end + platform_.kernel.end;
  if (outcome.ending == Ending::finished) {
    engine_.schedule(at, op->tie, [this, op, at] { operations_.finish(op, at); });
    return begin_waiting_kernels(op->device);
  }
  const uint32_t device = op->device - process.first_device;
  ++faults_;
  report_(make_incident(record::IncidentReason::kernel_fault, process.rank,
                        fmt::format("{}, device {}: {}", name_of(process), device, describe(outcome))));
  const Status status = status_of(outcome.fault.kind);
  // Whoever is told that the kernel has ended asks whether the context still works.
  break_context(process, device, status);
}

// Nothing of a context that has faulted goes on; whoever waits is told.
void Node::break_context(Process& process, uint32_t device, Status status) {
  Context& c = context(process, device);
  if (c.sticky_error != Status::ok) return;
  c.sticky_error = status;
  engine_.abandon(c);
  for (const OperationPtr& w : std::vector(process.pending)) {
    if (w->device == global_device(process, device)) operations_.finish(w, engine_.now(), status);
  }
  begin_waiting_kernels(global_device(process, device));
}

// --- Callbacks
// --------------------------------------------------------------------------------------------------------

OperationPtr Node::make_callback(Process& process, uint32_t device, uint64_t number) {
  const OperationPtr op = make_operation(process, device, "host function");
  op->work = [this, &process, number](const OperationPtr& self) {
    process.callbacks.emplace_back(number, self);
    deliver_callback(process);
  };
  return op;
}

void Node::deliver_callback(Process& process) {
  if (!process.callback_thread || process.callbacks.empty()) return;
  HostThread& thread = *std::exchange(process.callback_thread, nullptr);
  auto [number, op] = std::move(process.callbacks.front());
  process.callbacks.pop_front();
  process.callback = std::move(op);
  Answer answer;
  const wire::CallbackReady ready{number};
  answer.body.resize(sizeof ready);
  std::memcpy(answer.body.data(), &ready, sizeof ready);
  answer_at(thread, process.callback->begun + platform_.calls.wake, std::move(answer));
}

}  // namespace fb::machine
