// Operations that run kernels.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/demangle.h"
#include "virtual_node/machine/engine/launch.h"
#include "virtual_node/machine/process/stream_scheduler.h"

namespace fb::machine {
namespace {

using wire::Status;

constexpr uint64_t kWorkspaceBytes = 256;
constexpr uint32_t kDefaultDynamicShared = 48 * 1024;
constexpr size_t kMostResidentGrids = 128;  // of a device (CUDA programming guide, technical specifications)

}  // namespace

Status StreamScheduler::status_of(const LaunchProblem& problem) {
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

namespace {

Status status_of_trap(simt::TrapKind kind) {
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

Status StreamScheduler::make_launch(Process& process, const wire::Launch& m, std::span<const std::byte> params,
                                    int32_t priority, OperationPtr& op) {
  const uint32_t device = m.stream.device;
  const auto function = process.functions.find(m.function);
  if (function == process.functions.end()) return Status::invalid_device_function;
  if (const Status s = sticky_error(process, device); s != Status::ok) return s;
  const LoadedModule* module = node_.modules.loaded(process, device, function->second.module, nullptr);
  if (!module) return Status::invalid_device_function;
  LaunchRequest request;
  request.kernel = function->second.name;
  const auto of = process.modules.find(function->second.module);
  request.of_driver = of != process.modules.end() && of->second.of_driver;
  request.grid = {m.grid[0], m.grid[1], m.grid[2]};
  request.block = {m.block[0], m.block[1], m.block[2]};
  const bool cluster = m.cluster[0] != 0;
  if (cluster) request.cluster = {m.cluster[0], m.cluster[1], m.cluster[2]};
  request.dynamic_shared_bytes = m.dynamic_shared_bytes;
  request.cooperative = (m.flags & wire::kCooperative) != 0;
  request.params.assign(params.begin(), params.end());
  auto grid = make_grid(*module, request, node_.limits);
  if (!grid) return status_of(grid.error());
  if (!allows_shared(process, device, function->second.module, *grid)) return Status::invalid_value;
  if (grid->kernel->local_bytes != 0) {
    // Of all threads that can be resident.
    const BlockNeeds needs = needs_of(*grid, node_.limits);
    const uint64_t blocks = std::min(grid->grid.count(), SmSlots(node_.limits).capacity(needs));
    if (blocks * needs.threads * grid->kernel->local_bytes > node_.budget.room()) return Status::out_of_memory;
  }
  grid->explicit_cluster |= cluster;
  grid->fresh = node_.memory.fresh_bytes();
  auto shared_grid = std::make_shared<simt::Grid>(std::move(*grid));
  op = make_grid_operation(process, device, *module, shared_grid, priority);
  op->launched_at.assign(m.where, strnlen(m.where, sizeof m.where));
  std::ranges::replace_if(op->launched_at, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return Status::ok;
}

bool StreamScheduler::allows_shared(Process& process, uint32_t device, wire::Id module, const simt::Grid& grid) {
  const Context& c = node_.memory.context(process, device);
  const auto limit = c.dynamic_shared_limit.find({module, grid.kernel->name});
  const uint64_t most = limit != c.dynamic_shared_limit.end()
                            ? limit->second
                            : kDefaultDynamicShared - std::min(kDefaultDynamicShared, grid.kernel->static_shared_bytes);
  return grid.dynamic_shared_bytes <= most;
}

OperationPtr StreamScheduler::make_grid_operation(Process& process, uint32_t device, const LoadedModule& module,
                                                  const std::shared_ptr<simt::Grid>& grid, int32_t priority) {
  OperationPtr op = make_operation(process, device, demangle(grid->kernel->name));
  op->kind = WorkKind::kernel;
  op->payload = grid->params.size();
  op->facts.grid = grid;
  op->work = [this, &process, device, priority, grid, source = module.share_source()](const OperationPtr& self) {
    if (is_full_of_grids(self->device)) {
      waiting_kernels_[self->device].emplace(priority, self);
      return;
    }
    auto run = std::make_unique<GridRun>();
    run->grid = *grid;
    run->grid.id = next_grid_++;
    run->gpu = self->device;
    run->priority = priority;
    Context& context = node_.memory.context(process, device);
    if (!context.runtime) context.runtime = launches_.runtime_for(process, device);
    run->environment = &context;
    if (!node_.options.untimed) run->listener = node_.checking ? &node_.checking->listener() : &node_.clock;
    if (node_.checking) node_.checking->detector().begin_grid(run->grid.id, self->checked);
    const simt::FunctionInfo& kernel = *run->grid.kernel;
    node_.writes.note_grid({run->grid.id, run->gpu, process.number, kernel.name, 0, self->call, false, source,
                            kernel.index, run->grid.params, kernel.param_offsets});
    begin_kernel(self, std::move(run));
  };
  return op;
}

void StreamScheduler::begin_kernel(const OperationPtr& op, std::unique_ptr<GridRun> run) {
  Process& process = *op->process;
  const uint32_t device = op->device - process.first_device;
  if (run->grid.cooperative) {
    // Words of the grid barrier, zeroed. Few enough not to be counted.
    Region region;
    region.bytes = kWorkspaceBytes;
    region.kind = wire::MemoryKind::unknown;
    region.allocation = mem::allocate(process.next_allocation++, op->device, kWorkspaceBytes, "grid workspace");
    const Region* added = node_.memory.add_region(process, std::move(region));
    if (!added) {
      node_.lost.launch_failed(process, fmt::format("kernel {}: no memory for its grid barrier", op->name),
                               op->launched_at);
      return break_context(process, device, Status::out_of_memory);
    }
    run->grid.workspace = added->begin;
  }
  run->start = node_.fabric.shares().later(op->begun, node_.platform.kernel.start, platform::Group::launch);
  run->on_end = [this, op](GridRun& ended, Outcome&& outcome) { kernel_ended(op, ended, std::move(outcome)); };
  node_.log.add("begin of kernel", {op->device, static_cast<uint64_t>(process.rank), run->grid.id, op->begun});
  node_.log.count_kernel(op->device);
  op->facts.grid_id = op->launch = run->grid.id;
  launches_.begin_grid(run->grid.id, op);
  node_.engine.launch(std::move(run));
}

bool StreamScheduler::is_full_of_grids(uint32_t device) const {
  const auto here = std::ranges::count(node_.engine.runs(), device, [](const auto& r) { return r->gpu; });
  return static_cast<size_t>(here) >= kMostResidentGrids;
}

void StreamScheduler::begin_waiting_kernels(uint32_t device) {
  auto& waiting = waiting_kernels_[device];
  while (!waiting.empty() && !is_full_of_grids(device)) {
    const OperationPtr op = std::move(waiting.begin()->second);
    waiting.erase(waiting.begin());
    if (op->has_ended) continue;
    op->begun = std::max(op->begun, node_.engine.acting_time());
    const auto work = op->work;
    work(op);
  }
}

void StreamScheduler::kernel_ended(const OperationPtr& op, GridRun& run, Outcome&& outcome) {
  Process& process = *op->process;
  if (run.grid.workspace != 0) node_.memory.release_region(process, run.grid.workspace);
  node_.log.count_instructions(op->device, run.instructions);
  node_.log.add("end of kernel", {op->device, run.grid.id, run.instructions, run.end});
  node_.writes.note_grid_end(run.grid.id);
  const Time at = node_.fabric.shares().later(run.end, node_.platform.kernel.end, platform::Group::launch);
  if (outcome.ending == Ending::finished) {
    op->ran = true;
    node_.log.count_finished_kernel();
    node_.engine.schedule(at, op->tie, [this, op, at, grid = run.grid.id] {
      if (!launches_.end_grid(grid, at)) operations_.finish(op, at);
    });
    return begin_waiting_kernels(op->device);
  }
  const uint32_t device = op->device - process.first_device;
  node_.log.count_fault();
  node_.report(make_incident(record::IncidentReason::kernel_fault, process.rank,
                             fmt::format("{}, device {}: {}", name_of(process), device, describe(outcome))));
  const Status status = status_of_trap(outcome.fault.kind);
  op->faulted = true;
  // Threads that wait for the kernel read the sticky error when they are answered.
  break_context(process, device, status);
}

// After a fault all operations of the context end, and threads that wait for them are answered.
void StreamScheduler::break_context(Process& process, uint32_t device, Status status) {
  Context& c = node_.memory.context(process, device);
  if (c.sticky_error != Status::ok) return;
  c.sticky_error = status;
  node_.engine.abandon(c);
  for (const OperationPtr& w : std::vector(process.pending)) {
    if (w->device == global_device(process, device)) operations_.finish(w, node_.engine.now(), status);
  }
  begin_waiting_kernels(global_device(process, device));
}

}  // namespace fb::machine
