#include "virtual_node/machine/device/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "virtual_node/machine/deadlock/explain.h"

namespace fb::machine {
namespace {

constexpr uint64_t kWorkspaceBytes = 256;
constexpr size_t kMostOutput = 64 << 20;
// One instruction, one cycle: nothing is timed here.
constexpr uint32_t kManySchedulers = 1 << 20;

}  // namespace

Device::Device(DeviceLimits limits) : limits_(limits) {}
Device::~Device() = default;

// Memory

mem::Address Device::allocate(uint64_t bytes, std::string label) {
  if (bytes > limits_.memory - memory_used_) return 0;
  const mem::Address a = memory_.reserve(bytes, 256);
  memory_.map(a, mem::allocate(next_allocation_++, 0, bytes, std::move(label)));
  memory_used_ += bytes;
  return a;
}

bool Device::release(mem::Address a) {
  const mem::Window* w = memory_.find(a);
  if (!w || w->begin != a) return false;
  memory_used_ -= w->size;
  return memory_.unmap(a);
}

std::byte* Device::bytes(mem::Address a, uint64_t size) {
  const mem::Window* w = memory_.find(a);
  return w && w->contains(a, size) ? w->host + (a - w->begin) : nullptr;
}

mem::Address Device::heap_allocate(uint64_t bytes) {
  // Small allocations cost a page on the host as well.
  const uint64_t charged = std::max<uint64_t>(bytes, 4096);
  if (bytes == 0 || charged > limits_.heap - heap_used_) return 0;
  const mem::Address a = allocate(bytes, "malloc");
  if (a == 0) return 0;
  heap_[a] = charged;
  heap_used_ += charged;
  return a;
}

bool Device::heap_release(mem::Address a) {
  const auto found = heap_.find(a);
  if (found == heap_.end()) return false;
  // No copy in flight and no sleeping loop may refer to the bytes.
  engine_->forget(*this);
  heap_used_ -= found->second;
  heap_.erase(found);
  return release(a);
}

Result<LoadedModule*> Device::load(std::string_view text, const LoadOptions& options) {
  auto loaded = LoadedModule::load(text, options, [&](const ptx::Variable& v) -> LoadedModule::Storage {
    if (v.bytes > limits_.memory - memory_used_) return {};
    const bool constant = v.space == ptx::Space::constant;
    const mem::Address a = constant ? memory_.reserve_constant(v.bytes, v.align) : memory_.reserve(v.bytes, v.align);
    if (a == 0) return {};
    const mem::Window& w = memory_.map(a, mem::allocate(next_allocation_++, 0, v.bytes, "variable " + v.name));
    memory_used_ += v.bytes;
    return {a, w.host};
  });
  if (!loaded) return std::unexpected(std::move(loaded.error()));
  modules_.push_back(std::move(*loaded));
  return modules_.back().get();
}

// Output and time

void Device::print(std::string_view text) {
  if (output_.size() + text.size() <= kMostOutput) output_ += text;
}

std::string Device::take_output() { return std::exchange(output_, {}); }

// Launching

Result<Outcome> Device::run(const LoadedModule& module, const LaunchRequest& request, const DeviceRunOptions& options) {
  auto grid = make_grid(module, request, limits_);
  if (!grid) return error(std::move(grid.error().message));
  EngineOptions engine_options;
  engine_options.schedule = options.seed == 0 ? ScheduleKind::first_come : ScheduleKind::random;
  engine_options.seed = options.seed;
  engine_options.budget = options.budget;
  engine_.emplace(engine_options);
  auto launched = std::make_unique<GridRun>();
  launched->grid = std::move(*grid);
  launched->grid.check_uninitialised_shared = options.check_uninitialised_shared;
  launched->grid.id = next_grid_++;
  if (launched->grid.cooperative) launched->grid.workspace = allocate(kWorkspaceBytes, "grid workspace");
  const mem::Address workspace = launched->grid.workspace;
  launched->gpu = engine_->add_gpu(limits_, kDefaultCycle, 1, kManySchedulers);
  launched->environment = this;
  launched->listener = options.listener;
  std::optional<Outcome> outcome;
  launched->on_end = [&](GridRun&, Outcome&& ended) { outcome = std::move(ended); };
  GridRun& run = engine_->launch(std::move(launched));
  while (!outcome) {
    if ((!engine_->polls_in_vain() && engine_->step()) || engine_->pass_time()) continue;
    engine_->sleep_on_polls();
    outcome.emplace();
    outcome->instructions = run.instructions;
    outcome->ending = engine_->out_of_budget() ? Ending::budget : Ending::deadlock;
    if (outcome->ending == Ending::deadlock) outcome->deadlock = explain_deadlock(run, module, memory_);
  }
  engine_->abandon(*this);
  if (workspace != 0) release(workspace);
  return std::move(*outcome);
}

}  // namespace fb::machine
