#include "virtual_node/machine/process/device_launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "virtual_node/machine/engine/launch.h"
#include "virtual_node/machine/process/stream_scheduler.h"
#include "virtual_node/mem/layout.h"
#include "virtual_node/simt/warp.h"

namespace fb::machine {
namespace {

using wire::Status;

// Streams of the device that are not created.
constexpr uint64_t kLegacy = 1, kPerThread = 2, kTail = 3, kFireAndForget = 4;
constexpr uint32_t kLaunchPendingCountExceeded = 69;  // cudaError_t
// Far more than a device's default (2,048), which programs may raise.
constexpr size_t kMostPending = 1 << 16;
constexpr uint64_t kChunkBytes = 16 << 10, kParameterAlignment = 16;

uint32_t number(Status status) { return static_cast<uint32_t>(status); }

uint32_t thread_of(const simt::DeviceCaller& caller) { return caller.warp.index() * simt::kLanes + caller.lane; }

}  // namespace

// Of one process on one device.
class DeviceLaunches::Runtime final : public simt::DeviceRuntime {
 public:
  Runtime(DeviceLaunches& all, Process& process, uint32_t device) : all_(all), process_(process), device_(device) {}

  bool set_conditional(uint64_t handle, uint32_t value) override {
    const auto found = process_.conditionals.find(handle);
    if (found == process_.conditionals.end()) return false;
    found->second = value;
    return true;
  }

  mem::Address parameter_buffer(simt::DeviceCaller caller, uint64_t function, simt::Dim3 grid, simt::Dim3 block,
                                uint32_t shared_bytes) override {
    const LauncherPtr launcher = all_.launcher_of(caller.warp);
    Prepared prepared;
    const uint32_t error = prepare(caller, function, grid, block, shared_bytes, prepared);
    if (error != 0) {
      note_failed("of a kernel", error);
      set_last_error(caller, error);
      return 0;
    }
    const mem::Address piece = all_.take_piece(*launcher, std::max<uint64_t>(prepared.grid->params.size(), 1));
    if (piece == 0) {
      note_failed("of a kernel", number(Status::out_of_memory));
      set_last_error(caller, number(Status::out_of_memory));
      return 0;
    }
    launcher->prepared[piece] = std::move(prepared);
    return piece;
  }

  uint32_t launch(simt::DeviceCaller caller, mem::Address parameters, uint64_t stream) override {
    const LauncherPtr launcher = all_.launcher_of(caller.warp);
    const auto found = launcher->prepared.find(parameters);
    if (found == launcher->prepared.end()) return number(Status::invalid_value);
    const Prepared prepared = std::move(found->second);
    launcher->prepared.erase(found);
    auto& params = prepared.grid->params;
    const Bytes bytes = all_.node_.memory.find_bytes(process_, parameters, params.size());
    if (!params.empty() && bytes.host) std::memcpy(params.data(), bytes.host, params.size());
    const OperationPtr op =
        all_.node_.streams.make_grid_operation(process_, device_, *prepared.module, prepared.grid, 0);
    const uint32_t error = all_.enqueue(caller, op, stream);
    if (error != 0) note_failed("of kernel " + op->name, error);
    return error;
  }

  uint32_t copy(simt::DeviceCaller caller, mem::Address to, uint64_t to_pitch, mem::Address from, uint64_t from_pitch,
                uint64_t width, uint64_t height, uint64_t stream) override {
    if (width == 0 || height == 0) return 0;
    wire::Copy m;
    m.stream.device = device_;
    m.to = to;
    m.to_pitch = to_pitch;
    m.to_plane = to_pitch * height;
    m.from = from;
    m.from_pitch = from_pitch;
    m.from_plane = from_pitch * height;
    m.width = width;
    m.height = height;
    OperationPtr op;
    const Status s = all_.node_.streams.make_copy(process_, m, {}, op, nullptr);
    return s == Status::ok ? all_.enqueue(caller, op, stream) : number(s);
  }

  uint32_t fill(simt::DeviceCaller caller, mem::Address to, uint64_t pitch, uint32_t value, uint64_t width,
                uint64_t height, uint64_t stream) override {
    if (width == 0 || height == 0) return 0;
    wire::Memset m;
    m.stream.device = device_;
    m.to = to;
    m.pitch = pitch;
    m.plane = pitch * height;
    m.width = width;
    m.height = height;
    m.value = value & 0xff;
    OperationPtr op;
    const Status s = all_.node_.streams.make_memset(process_, m, op);
    return s == Status::ok ? all_.enqueue(caller, op, stream) : number(s);
  }

  uint64_t create_stream(simt::DeviceCaller) override {
    all_.streams_[all_.next_handle_].number = all_.next_stream_++;
    return all_.next_handle_++;
  }
  // What is on it ends as it would.
  uint32_t destroy_stream(simt::DeviceCaller, uint64_t stream) override {
    return all_.streams_.erase(stream) != 0 ? 0 : number(Status::invalid_handle);
  }
  uint64_t create_event(simt::DeviceCaller) override {
    all_.events_[all_.next_handle_];
    return all_.next_handle_++;
  }
  uint32_t destroy_event(simt::DeviceCaller, uint64_t event) override {
    return all_.events_.erase(event) != 0 ? 0 : number(Status::invalid_handle);
  }
  uint32_t record_event(simt::DeviceCaller caller, uint64_t event, uint64_t stream) override {
    const auto found = all_.events_.find(event);
    if (found == all_.events_.end()) return number(Status::invalid_handle);
    if (stream == kTail || stream == kFireAndForget) return number(Status::invalid_value);
    found->second = StreamScheduler::make_operation(process_, device_, "event");
    return all_.enqueue(caller, found->second, stream);
  }
  uint32_t wait_event(simt::DeviceCaller caller, uint64_t stream, uint64_t event) override {
    const auto found = all_.events_.find(event);
    if (found == all_.events_.end()) return number(Status::invalid_handle);
    if (stream == kTail || stream == kFireAndForget) return number(Status::invalid_value);
    const OperationPtr op = StreamScheduler::make_operation(process_, device_, "event");
    Operations::order(found->second, op);
    return all_.enqueue(caller, op, stream);
  }

  uint32_t last_error(simt::DeviceCaller caller, bool take) override {
    const auto known = all_.launchers_.find(caller.warp.block().grid().id);
    if (known == all_.launchers_.end()) return 0;
    const auto found = known->second->errors.find({caller.warp.block().index(), thread_of(caller)});
    if (found == known->second->errors.end()) return 0;
    const uint32_t error = found->second;
    if (take) known->second->errors.erase(found);
    return error;
  }
  void set_last_error(simt::DeviceCaller caller, uint32_t error) override {
    all_.launcher_of(caller.warp)->errors[{caller.warp.block().index(), thread_of(caller)}] = error;
  }

  mem::Address error_text(uint32_t error) override {
    mem::Address& known = error_texts_[error];
    if (known != 0) return known;
    const std::string text = error == 0 ? "no error" : std::string(wire::to_string(static_cast<Status>(error)));
    Region region;
    region.bytes = text.size() + 1;
    region.kind = wire::MemoryKind::unknown;
    region.allocation =
        mem::allocate(process_.next_allocation++, global_device(process_, device_), region.bytes, "text of an error");
    std::memcpy(region.allocation->bytes.get(), text.c_str(), text.size() + 1);
    const Region* added = all_.node_.memory.add_region(process_, std::move(region));
    return known = added ? added->begin : 0;
  }

  uint32_t device() override { return device_; }
  uint32_t device_count() override { return all_.node_.platform.node.devices; }
  int64_t device_attribute(uint32_t attribute) override {
    const DeviceLimits& limits = all_.node_.limits;
    constexpr int64_t kStaticShared = 48 << 10;
    // Numbers of cudaDeviceAttr.
    const std::map<uint32_t, int64_t> known = {{1, limits.threads_per_block},
                                               {8, kStaticShared},
                                               {10, simt::kLanes},
                                               {12, limits.registers_per_sm},
                                               {16, limits.sms},
                                               {39, limits.threads_per_sm},
                                               {81, limits.shared_per_sm},
                                               {82, limits.registers_per_sm},
                                               {97, limits.shared_per_block},
                                               {106, limits.blocks_per_sm}};
    const auto found = known.find(attribute);
    return found == known.end() ? -1 : found->second;
  }

 private:
  void note_failed(const std::string& what, uint32_t error) {
    all_.node_.lost.launch_failed(
        process_,
        fmt::format("a launch {} by a kernel on device {}: error {}{}", what, device_, error, error_suffix(error)), "");
  }
  static std::string error_suffix(uint32_t error) {
    const std::string_view text = wire::to_string(static_cast<Status>(error));
    return text.empty() ? "" : fmt::format(" ({})", text);
  }

  // Checks a launch as one of the host is checked.
  uint32_t prepare(const simt::DeviceCaller& caller, uint64_t function, simt::Dim3 grid, simt::Dim3 block,
                   uint32_t shared_bytes, Prepared& prepared) {
    const simt::Program* program = caller.warp.block().grid().program;
    const uint64_t index = (function - mem::kCodeWindow) / simt::kCodeStride;
    if (function < mem::kCodeWindow || index >= program->functions.size() || !program->functions[index].source->entry)
      return number(Status::invalid_device_function);
    Context& context = all_.node_.memory.context(process_, device_);
    const auto module = std::ranges::find_if(
        context.modules, [&](const auto& m) { return m.second.loaded && &m.second.loaded->program() == program; });
    if (module == context.modules.end()) return number(Status::invalid_device_function);
    const simt::FunctionInfo& kernel = program->functions[index];
    LaunchRequest request;
    request.kernel = kernel.name;
    request.grid = grid;
    request.block = block;
    request.dynamic_shared_bytes = shared_bytes;
    request.params.resize(kernel.param_bytes);
    auto made = make_grid(*module->second.loaded, request, all_.node_.limits);
    if (!made) return number(StreamScheduler::status_of(made.error()));
    if (!all_.node_.streams.allows_shared(process_, device_, module->first, *made))
      return number(Status::invalid_value);
    made->fresh = all_.node_.memory.fresh_bytes();
    prepared = {std::make_shared<simt::Grid>(std::move(*made)), module->second.loaded.get()};
    return 0;
  }

  DeviceLaunches& all_;
  Process& process_;
  const uint32_t device_;
  std::map<uint32_t, mem::Address> error_texts_;
};

std::unique_ptr<simt::DeviceRuntime> DeviceLaunches::runtime_for(Process& process, uint32_t device) {
  if (node_.judge) return nullptr;
  return std::make_unique<Runtime>(*this, process, device);
}

void DeviceLaunches::begin_grid(uint64_t grid, const OperationPtr& op) {
  if (!node_.judge) grids_[grid] = op;
}

DeviceLaunches::LauncherPtr DeviceLaunches::launcher_of(const simt::Warp& warp) {
  const uint64_t grid = warp.block().grid().id;
  LauncherPtr& launcher = launchers_[grid];
  if (!launcher) {
    launcher = std::make_shared<Launcher>();
    launcher->op = grids_.at(grid);
  }
  return launcher;
}

mem::Address DeviceLaunches::take_piece(Launcher& launcher, uint64_t bytes) {
  bytes = (bytes + kParameterAlignment - 1) / kParameterAlignment * kParameterAlignment;
  if (launcher.free_to - launcher.free_from < bytes) {
    Process& process = *launcher.op->process;
    Region region;
    region.bytes = std::max(bytes, kChunkBytes);
    region.kind = wire::MemoryKind::unknown;
    region.allocation = node_.memory.take_memory(process, launcher.op->device - process.first_device, region.bytes,
                                                 "parameters of launches", NodeMemory::Contents::zero);
    if (!region.allocation) return 0;
    const Region* added = node_.memory.add_region(process, std::move(region));
    if (!added) return 0;
    launcher.chunks.push_back(added->begin);
    launcher.free_from = added->begin;
    launcher.free_to = added->begin + added->bytes;
  }
  return std::exchange(launcher.free_from, launcher.free_from + bytes);
}

// Ordered behind what is on the stream, and behind what the calling thread did before. The default stream is each
// block's own.
uint32_t DeviceLaunches::enqueue(simt::DeviceCaller caller, const OperationPtr& op, uint64_t stream) {
  const LauncherPtr launcher = launcher_of(caller.warp);
  if (launcher->running + launcher->tail.size() - launcher->next_of_tail >= kMostPending)
    return kLaunchPendingCountExceeded;
  const Time launched = node_.fabric.shares().later(node_.engine.acting_time(), node_.platform.kernel.graph_launch,
                                                    platform::Group::launch);
  op->issued = std::max(op->issued, launched);
  if (node_.checking) {
    race::Detector& detector = node_.checking->detector();
    op->incoming = detector.join(op->incoming, detector.launch_clock(caller.warp, caller.lane));
  }
  if (stream == kTail) {
    op->stream = next_stream_++;
    launcher->tail.push_back(op);
    return 0;
  }
  if (stream == kFireAndForget) {
    op->stream = next_stream_++;
    submit(launcher, op);
    return 0;
  }
  DeviceStream* on = nullptr;
  if (stream == 0 || stream == kLegacy || stream == kPerThread) {
    on = &launcher->own_streams[caller.warp.block().index()];
    if (on->number == 0) on->number = next_stream_++;
  } else if (const auto found = streams_.find(stream); found != streams_.end()) {
    on = &found->second;
  }
  if (!on) return number(Status::invalid_handle);
  op->stream = on->number;
  Operations::order(on->last, op);
  on->last = op;
  submit(launcher, op);
  return 0;
}

void DeviceLaunches::submit(const LauncherPtr& launcher, const OperationPtr& op) {
  ++launcher->running;
  op->on_end.push_back([this, launcher, part = op.get()] {
    --launcher->running;
    if (node_.checking) node_.checking->inherit(*launcher->op, part->outgoing);
    go_on(launcher);
  });
  node_.streams.submit_part(op);
}

bool DeviceLaunches::end_grid(uint64_t grid, Time at) {
  grids_.erase(grid);
  const auto found = launchers_.find(grid);
  if (found == launchers_.end()) return false;
  const LauncherPtr launcher = std::move(found->second);
  launchers_.erase(found);
  launcher->ended = true;
  launcher->end = at;
  go_on(launcher);
  return true;
}

// The launches of the tail one after the other, each behind everything before it; then the operation ends.
void DeviceLaunches::go_on(const LauncherPtr& launcher) {
  if (!launcher->ended || launcher->running != 0 || launcher->op->has_ended) return;
  launcher->end = std::max(launcher->end, node_.engine.now());
  if (launcher->next_of_tail < launcher->tail.size()) {
    const OperationPtr op = launcher->tail[launcher->next_of_tail++];
    op->issued = std::max(op->issued, launcher->end);
    if (node_.checking)
      op->incoming = node_.checking->detector().join(op->incoming, node_.checking->so_far(*launcher->op));
    return submit(launcher, op);
  }
  node_.memory.release_regions(*launcher->op->process, launcher->chunks);
  launcher->chunks.clear();
  node_.streams.finish(launcher->op, launcher->end);
}

}  // namespace fb::machine
