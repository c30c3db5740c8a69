// What operations do: kernels, copies, fills, values, callbacks.

#include "machine/node/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "machine/launch.h"
#include "machine/places.h"

namespace fb::machine {
namespace {

using wire::Status;

constexpr uint64_t kWorkspaceBytes = 256;
constexpr uint32_t kDefaultDynamicShared = 48 * 1024;

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

// Rows and planes of a box: f(offset in a packed box, row, plane).
bool box_fits(uint64_t width, uint64_t height, uint64_t depth, uint64_t pitch, uint64_t plane, uint64_t& extent) {
  if (width == 0 || height == 0 || depth == 0) {
    extent = 0;
    return true;
  }
  if (height > 1 && pitch < width) return false;
  unsigned __int128 bytes = width;
  bytes += static_cast<unsigned __int128>(pitch) * (height - 1);
  bytes += static_cast<unsigned __int128>(plane) * (depth - 1);
  if (bytes > (uint64_t{1} << 46)) return false;
  extent = static_cast<uint64_t>(bytes);
  return true;
}

struct Box {
  uint64_t width = 0, height = 0, depth = 0;
  uint64_t bytes() const { return width * height * depth; }
  template <class F>
  void each_row(F f) const {
    for (uint64_t z = 0; z < depth; ++z) {
      for (uint64_t y = 0; y < height; ++y) f(z, y);
    }
  }
};

}  // namespace

Work Node::make_operation(Process& process, uint32_t device, std::string name) {
  auto op = std::make_shared<Operation>();
  op->process = &process;
  op->device = global_device(process, device);
  op->name = std::move(name);
  op->tie = tie_of(process, process.next_operation++);
  if (process.pending.size() >= process.prune_at) {
    std::erase_if(process.pending, [](const Work& w) { return w->has_ended; });
    process.prune_at = std::max<size_t>(64, process.pending.size() * 2);
  }
  process.pending.push_back(op);
  return op;
}

// The default stream waits for all blocking streams of its device and they wait for it.
void Node::enqueue(HostThread& thread, Stream& stream, uint64_t stream_id, const Work& op) {
  Process& process = *thread.process;
  op->stream = stream_id;
  op->issued = std::max(op->issued, thread.now);
  Operations::order(stream.last, op);
  if (stream_id == 0) {
    for (auto& [id, other] : process.streams) {
      if (other.device == stream.device && !other.non_blocking) Operations::order(other.last, op);
    }
  } else if (!stream.non_blocking) {
    if (const auto legacy = process.default_streams.find(stream.device); legacy != process.default_streams.end())
      Operations::order(legacy->second.last, op);
  }
  stream.last = op;
  operations_.submit(op);
}

// --- Kernels
// ----------------------------------------------------------------------------------------------------------

Status Node::make_launch(Process& process, const wire::Launch& m, std::span<const std::byte> params, int32_t priority,
                         Work& op) {
  const uint32_t device = m.stream.device;
  const auto function = process.functions.find(m.function);
  if (function == process.functions.end()) return Status::invalid_device_function;
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
  grid->explicit_cluster |= cluster;
  op = make_operation(process, device, function->second.name);
  auto shared_grid = std::make_shared<simt::Grid>(std::move(*grid));
  op->work = [this, &process, device, priority, shared_grid](const Work& self) {
    auto run = std::make_unique<GridRun>();
    run->grid = *shared_grid;
    run->grid.id = next_grid_++;
    run->gpu = self->device;
    run->priority = priority;
    run->environment = &context(process, device);
    run->listener = &clock_;
    begin_kernel(self, std::move(run));
  };
  return Status::ok;
}

void Node::begin_kernel(const Work& op, std::unique_ptr<GridRun> run) {
  Process& process = *op->process;
  const uint32_t device = op->device - process.first_device;
  if (run->grid.cooperative) {
    // Words of the grid barrier, zeroed.
    Region region;
    region.bytes = kWorkspaceBytes;
    region.kind = wire::MemoryKind::unknown;
    region.allocation = take_memory(process, device, kWorkspaceBytes, "grid workspace");
    if (!region.allocation) return operations_.finish(op, engine_.now(), Status::out_of_memory);
    run->grid.workspace = add_region(process, std::move(region))->begin;
  }
  run->start = op->begun + platform_.kernel.start;
  run->on_end = [this, op](GridRun& ended, Outcome&& outcome) { kernel_ended(op, ended, std::move(outcome)); };
  log("begin of kernel", {op->device, static_cast<uint64_t>(process.rank), run->grid.id, op->begun});
  ++counters_[op->device].kernels;
  engine_.launch(std::move(run));
}

void Node::kernel_ended(const Work& op, GridRun& run, Outcome&& outcome) {
  Process& process = *op->process;
  if (run.grid.workspace != 0) release_region(process, run.grid.workspace);
  counters_[op->device].instructions += run.instructions;
  log("end of kernel", {op->device, run.grid.id, run.instructions, run.end});
  const Time at = run.end + platform_.kernel.end;
  if (outcome.ending == Ending::finished) {
    engine_.schedule(at, op->tie, [this, op, at] { operations_.finish(op, at); });
    return;
  }
  const uint32_t device = op->device - process.first_device;
  report_({"fault", process.rank < 0 ? std::nullopt : std::optional(process.rank),
           fmt::format("{}, device {}: {}", name_of(process), device, describe(outcome)), false});
  const Status status = status_of(outcome.fault.kind);
  // Whoever is told that the kernel has ended asks whether the context still works.
  break_context(process, device, status);
}

// Nothing of a context that has faulted goes on; whoever waits is told.
void Node::break_context(Process& process, uint32_t device, Status status) {
  Context& c = context(process, device);
  if (c.broken != Status::ok) return;
  c.broken = status;
  engine_.abandon(c);
  for (const Work& w : std::vector(process.pending)) {
    if (w->device == global_device(process, device)) operations_.finish(w, engine_.now(), status);
  }
}

// --- Copies and fills
// -------------------------------------------------------------------------------------------------

namespace {

// Asks the fabric piece by piece, so that copies and kernels share links as they go.
void carry_on(fabric::Fabric& fabric, Engine& engine, uint64_t tie, std::shared_ptr<fabric::Copy> copy,
              std::function<void(Time)> done) {
  fabric.advance(*copy);
  if (copy->done()) {
    const Time end = copy->end;
    engine.schedule(end, tie, [done = std::move(done), end] { done(end); });
    return;
  }
  const Time next = copy->next;
  engine.schedule(next, tie, [&fabric, &engine, tie, copy = std::move(copy), done = std::move(done)]() mutable {
    carry_on(fabric, engine, tie, std::move(copy), std::move(done));
  });
}

}  // namespace

Status Node::make_copy(Process& process, const wire::Copy& m, std::span<const std::byte> blob, Work& op,
                       std::shared_ptr<std::vector<std::byte>>* read) {
  const Box box{m.width, m.height, m.depth};
  uint64_t to_extent = 0, from_extent = 0;
  if (m.width > (uint64_t{1} << 46) || m.height > (uint64_t{1} << 32) || m.depth > (uint64_t{1} << 32))
    return Status::invalid_value;
  if (!box_fits(m.width, m.height, m.depth, m.to_pitch, m.to_plane, to_extent) ||
      !box_fits(m.width, m.height, m.depth, m.from_pitch, m.from_plane, from_extent))
    return Status::invalid_value;
  if (m.to == 0 && m.from == 0) return Status::invalid_value;
  Bytes to, from;
  std::shared_ptr<std::vector<std::byte>> payload;
  if (to_extent != 0 && m.to != 0 && !(to = find_bytes(process, m.to, to_extent)).host) return Status::invalid_value;
  if (from_extent != 0 && m.from != 0 && !(from = find_bytes(process, m.from, from_extent)).host)
    return Status::invalid_value;
  if (m.from == 0) {
    if (blob.size() != box.bytes()) return Status::invalid_value;
    payload = std::make_shared<std::vector<std::byte>>(blob.begin(), blob.end());
  } else if (m.to == 0) {
    if (box.bytes() > wire::kLargestBlob || !read) return Status::invalid_value;
    payload = std::make_shared<std::vector<std::byte>>(box.bytes());
    *read = payload;
  }
  op = make_operation(process, m.stream.device, "copy");
  if (box.bytes() == 0) return Status::ok;
  const auto owner = [](const Bytes& b) { return b.allocation ? b.allocation->device : mem::kHostMemory; };
  op->name = owner(to) == mem::kHostMemory     ? (owner(from) == mem::kHostMemory ? "copy on host" : "copy to host")
             : owner(from) == mem::kHostMemory ? "copy from host"
             : owner(to) == owner(from)        ? "copy"
                                               : "copy to peer";
  op->work = [this, m, box, to, from, payload, a = owner(from), b = owner(to)](const Work& self) {
    ++counters_[self->device].copies;
    log("copy", {self->device, box.bytes(), self->begun});
    const auto perform = [this, m, box, to, from, payload, self](Time end) {
      box.each_row([&](uint64_t z, uint64_t y) {
        const uint64_t packed = (z * box.height + y) * box.width;
        std::byte* target = m.to != 0 ? to.host + z * m.to_plane + y * m.to_pitch : payload->data() + packed;
        const std::byte* source =
            m.from != 0 ? from.host + z * m.from_plane + y * m.from_pitch : payload->data() + packed;
        std::memmove(target, source, box.width);
        if (m.to != 0) engine_.watch().written(target, box.width);
      });
      operations_.finish(self, end);
    };
    carry_on(fabric_, engine_, self->tie,
             std::make_shared<fabric::Copy>(fabric_.start_copy(self->device, a, b, box.bytes(), self->begun,
                                                               m.pageable != 0 || payload != nullptr)),
             perform);
  };
  return Status::ok;
}

Status Node::make_fill(Process& process, const wire::Fill& m, Work& op) {
  if (m.element != 1 && m.element != 2 && m.element != 4) return Status::invalid_value;
  if (m.to % m.element != 0 || (m.height > 1 && m.pitch % m.element != 0)) return Status::invalid_value;
  if (m.width > (uint64_t{1} << 44) || m.height > (uint64_t{1} << 32) || m.depth > (uint64_t{1} << 32))
    return Status::invalid_value;
  const Box box{m.width * m.element, m.height, m.depth};
  uint64_t extent = 0;
  if (!box_fits(box.width, m.height, m.depth, m.pitch, m.plane, extent)) return Status::invalid_value;
  Bytes to;
  if (extent != 0 && !(to = find_bytes(process, m.to, extent)).host) return Status::invalid_value;
  op = make_operation(process, m.stream.device, "fill");
  if (extent == 0) return Status::ok;
  op->work = [this, m, box, to](const Work& self) {
    log("fill", {self->device, box.bytes(), self->begun});
    const auto perform = [this, m, box, to, self](Time end) {
      std::byte pattern[4];
      std::memcpy(pattern, &m.value, sizeof pattern);
      box.each_row([&](uint64_t z, uint64_t y) {
        std::byte* target = to.host + z * m.plane + y * m.pitch;
        if (m.element == 1) {
          std::memset(target, static_cast<int>(m.value & 255), box.width);
        } else {
          for (uint64_t k = 0; k < box.width; k += m.element) std::memcpy(target + k, pattern, m.element);
        }
        engine_.watch().written(target, box.width);
      });
      operations_.finish(self, end);
    };
    carry_on(fabric_, engine_, self->tie,
             std::make_shared<fabric::Copy>(
                 fabric_.start_fill(self->device, to.allocation->device, box.bytes(), self->begun)),
             perform);
  };
  return Status::ok;
}

// --- Values
// -----------------------------------------------------------------------------------------------------------

// Sleeps until a word in memory compares.
class Node::ValueWait final : public simt::Watcher {
 public:
  ValueWait(Node& node, Work op, Bytes bytes, const wire::ValueOnStream& m)
      : node_(&node), op_(std::move(op)), bytes_(std::move(bytes)), m_(m) {
    node_->value_waits_.push_back(this);
    node_->engine_.watch().add({this, 0, bytes_.host, m_.bytes});
  }

  void wake(uint32_t) override { look(); }

  // Ends the operation if the word compares; then this is gone.
  void look() {
    if (!holds(bytes_.host, m_)) return;
    // Not while the list of sleepers is being walked.
    if (std::exchange(done_, true)) return;
    const Time at = node_->engine_.acting_time();
    node_->engine_.schedule(at, op_->tie, [this, at] {
      std::erase(node_->value_waits_, this);
      node_->engine_.watch().remove(this, 0, bytes_.host, m_.bytes);
      node_->operations_.finish(op_, std::max(at, op_->begun));
      delete this;
    });
  }

  const Operation& operation() const { return *op_; }

  static bool holds(const std::byte* at, const wire::ValueOnStream& m) {
    uint64_t value = 0;
    std::memcpy(&value, at, m.bytes);
    switch (m.compare) {
      case wire::Compare::greater_equal:
        return m.bytes == 4 ? static_cast<int32_t>(static_cast<uint32_t>(value) - static_cast<uint32_t>(m.value)) >= 0
                            : static_cast<int64_t>(value - m.value) >= 0;
      case wire::Compare::equal:
        return value == (m.bytes == 4 ? m.value & UINT32_MAX : m.value);
      case wire::Compare::bit_and:
        return (value & m.value) != 0;
      case wire::Compare::bit_nor: {
        const uint64_t nor = ~(value | m.value);
        return (m.bytes == 4 ? nor & UINT32_MAX : nor) != 0;
      }
    }
    return false;
  }

 private:
  Node* node_;
  Work op_;
  Bytes bytes_;
  wire::ValueOnStream m_;
  bool done_ = false;
};

Status Node::make_value(Process& process, const wire::ValueOnStream& m, bool wait, Work& op) {
  if ((m.bytes != 4 && m.bytes != 8) || m.address % m.bytes != 0) return Status::invalid_value;
  if (static_cast<uint32_t>(m.compare) > static_cast<uint32_t>(wire::Compare::bit_nor)) return Status::invalid_value;
  const Bytes bytes = find_bytes(process, m.address, m.bytes);
  if (!bytes.host) return Status::invalid_value;
  op = make_operation(process, m.stream.device, wait ? "wait for value" : "write value");
  op->work = [this, m, wait, bytes](const Work& self) {
    if (!wait) {
      std::memcpy(bytes.host, &m.value, m.bytes);
      engine_.watch().written(bytes.host, m.bytes);
      operations_.finish(self, self->begun);
    } else if (ValueWait::holds(bytes.host, m)) {
      operations_.finish(self, self->begun);
    } else {
      new ValueWait(*this, self, bytes, m);  // owns itself until the word compares
    }
  };
  return Status::ok;
}

void Node::look_again() {
  engine_.look_again();
  for (ValueWait* wait : std::vector(value_waits_)) wait->look();
}

void Node::drop_value_waits() {
  for (ValueWait* wait : std::exchange(value_waits_, {})) delete wait;
}

// --- Callbacks
// --------------------------------------------------------------------------------------------------------

Work Node::make_callback(Process& process, uint32_t device, uint64_t number) {
  const Work op = make_operation(process, device, "host function");
  op->work = [this, &process, number](const Work& self) {
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
