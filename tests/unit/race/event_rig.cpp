#include "event_rig.h"

#include <array>
#include <stdexcept>
#include <utility>

#include "common/ptx/parse/parser.h"

namespace fb::race {
namespace {

constexpr uint32_t kLines = 512;

// In the order of SpecialLine.
constexpr const char* kPtx = R"(
.version 8.5
.target sm_90a
.address_size 64
.visible .entry kernel()
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ret;
  red.relaxed.sys.global.add.u32 [%rd0], %r0;
  fence.proxy.async;
  cp.async.bulk.wait_group.read 0;
  cp.async.ca.shared.global [%r0], [%rd0], 16;
  barrier.cta.arrive 1, 64;
  multimem.cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r0], %r1;
  fence.mbarrier_init.release.cluster;
}
)";

}  // namespace

EventRig::EventRig(const Options& options) {
  auto module = ptx::parse(kPtx);
  if (!module) throw std::runtime_error("the PTX of the rig does not parse");
  module_ = std::move(*module);
  program_.module = &module_;
  program_.constants.resize(128);
  function_.name = "kernel";
  function_.static_shared_bytes = 4096;
  insts_.resize(kLines);
  program_.origins.resize(kLines);
  for (uint32_t k = 0; k < kLines; ++k) {
    insts_[k].origin = k;
    program_.origins[k].index = k >= kRed && k <= kFenceMbarrierInit ? k : 0;
  }
  detector_ = std::make_unique<Detector>(
      options,
      [](const simt::Program&, uint32_t origin) {
        return simt::SourceLocation{.function = "kernel", .file = "test.cu", .line = origin, .text = "ptx"};
      },
      [this](Report&& report) { reports_.push_back(std::move(report)); });
}
EventRig::~EventRig() = default;

std::string EventRig::text() const {
  std::string all;
  for (const Report& r : reports_) all += std::string(r.rule) + ": " + r.text + "\n";
  return all;
}

uint32_t EventRig::kernel(uint32_t device, const ClockRef& incoming, StreamEpoch at) {
  OperationInfo info;
  info.name = "kernel";
  info.host = device;
  info.device = device;
  info.kernel = true;
  info.number = ++next_number_;
  info.call = call;
  info.stream_epoch = at.stream != 0 ? at : StreamEpoch{next_stream_++, 1};
  Kernel& k = kernels_.emplace_back();
  k.device = device;
  k.grid.program = &program_;
  k.grid.kernel = &function_;
  k.grid.grid = {16, 1, 1};
  k.grid.block = {64, 1, 1};
  k.grid.id = kernels_.size();
  k.operation = detector_->begin_operation(std::move(info), incoming);
  detector_->begin_grid(k.grid.id, k.operation);
  return k.operation;
}

uint32_t EventRig::copy(uint32_t device, const ClockRef& incoming, StreamEpoch at) {
  OperationInfo info;
  info.name = "copy";
  info.host = device;
  info.device = device;
  info.number = ++next_number_;
  info.stream_epoch = at.stream != 0 ? at : StreamEpoch{next_stream_++, 1};
  return detector_->begin_operation(std::move(info), incoming);
}

ClockRef EventRig::end(uint32_t operation) {
  for (Kernel& k : kernels_) {
    if (k.operation != operation) continue;
    for (simt::Block* b : k.blocks) {
      for (const auto& w : b->warps()) detector_->on_warp_exit(*w);
    }
  }
  return detector_->end_operation(operation);
}

simt::Block& EventRig::make_block(uint32_t operation) {
  for (Kernel& k : kernels_) {
    if (k.operation != operation) continue;
    blocks_.push_back(std::make_unique<simt::Block>(k.grid, k.blocks.size(), *this, detector_.get()));
    simt::Block& b = *blocks_.back();
    b.device = k.device;
    k.blocks.push_back(&b);
    return b;
  }
  throw std::runtime_error("no such kernel");
}

// As the engine does: all warps of a block start before any of them runs.
void EventRig::start(simt::Block& block) {
  for (const auto& w : block.warps()) detector_->on_warp_start(*w);
}

simt::Block& EventRig::block(uint32_t device, uint32_t operation) {
  simt::Block& b = make_block(operation == 0 ? kernel(device) : operation);
  start(b);
  return b;
}

simt::Cluster& EventRig::cluster(uint32_t blocks) {
  clusters_.push_back(std::make_unique<simt::Cluster>());
  simt::Cluster& c = *clusters_.back();
  const uint32_t operation = kernel();
  for (uint32_t rank = 0; rank < blocks; ++rank) {
    simt::Block& b = make_block(operation);
    b.cluster = &c;
    b.rank_in_cluster = rank;
    c.blocks.push_back(&b);
  }
  for (simt::Block* b : c.blocks) start(*b);
  return c;
}

mem::Address EventRig::memory(uint32_t device, uint64_t bytes) {
  auto allocation = mem::allocate(next_memory_++, device, bytes, "memory");
  const mem::Address a = space_.reserve(bytes, 4096);
  space_.map(a, std::move(allocation));
  return a;
}

const simt::Inst& EventRig::inst(uint32_t line) { return insts_.at(line == 0 ? next_line_++ : line); }

void EventRig::access(simt::Warp& w, AccessKind kind, Mask lanes, const std::vector<mem::Address>& addresses,
                      const How& how) {
  simt::Access access;
  access.kind = kind;
  access.order = how.order;
  access.scope = how.scope;
  access.proxy = how.proxy;
  access.bytes = how.bytes;
  access.element = how.element;
  access.values = how.values;
  access.lanes = lanes;
  access.addresses = addresses.data();
  access.inst = &inst(how.line);
  detector_->on_access(w, access);
}

void EventRig::access(Thread t, AccessKind kind, mem::Address a, const How& how) {
  access(t.warp(), kind, t.mask(), std::vector<mem::Address>(simt::kLanes, a), how);
}

void EventRig::sync(simt::Warp& w, Mask lanes, const simt::Sync& sync, uint32_t line) {
  simt::Sync event = sync;
  event.lanes = lanes;
  event.inst = &inst(line);
  detector_->on_sync(w, event);
}

void EventRig::sync(Thread t, simt::SyncKind kind, uint32_t id, MemoryOrder order, uint32_t line) {
  sync(t.warp(), t.mask(), {.kind = kind, .order = order, .id = id}, line);
}

void EventRig::fence(Thread t, Scope scope, MemoryOrder order, uint32_t line) {
  sync(t.warp(), t.mask(), {.kind = simt::SyncKind::fence, .order = order, .scope = scope}, line);
}

void EventRig::syncthreads(simt::Block& b, uint32_t id) {
  const uint32_t line = next_line_++;
  for (const auto& w : b.warps()) sync(*w, w->present(), {.kind = simt::SyncKind::block_arrive, .id = id}, line);
  for (const auto& w : b.warps()) sync(*w, w->present(), {.kind = simt::SyncKind::block_release, .id = id}, line);
}

void EventRig::syncwarp(simt::Warp& w, Mask lanes) { sync(w, lanes, {.kind = simt::SyncKind::warp, .id = lanes}); }

void EventRig::sync_cluster(simt::Cluster& c, MemoryOrder arrive, MemoryOrder wait) {
  const uint32_t line = next_line_++;
  for (simt::Block* b : c.blocks) {
    for (const auto& w : b->warps())
      sync(*w, w->present(), {.kind = simt::SyncKind::cluster_arrive, .order = arrive}, line);
  }
  ++c.phase;
  for (simt::Block* b : c.blocks) {
    for (const auto& w : b->warps())
      sync(*w, w->present(), {.kind = simt::SyncKind::cluster_release, .order = wait}, line);
  }
}

simt::AsyncCopy EventRig::issue_copy(Thread t, mem::Address to, mem::Address from, const How& how) {
  access(t, AccessKind::load, from, how);
  access(t, AccessKind::store, to, how);
  simt::AsyncCopy copy;
  copy.block = t.block;
  copy.warp = &t.warp();
  copy.lanes = t.mask();
  copy.sequence = t.block->next_copy++;
  detector_->on_copy_issue(copy);
  return copy;
}

void EventRig::copies_arrive(Thread t, simt::Block& owner, uint32_t offset) {
  detector_->on_copies_arrive(t.warp(), t.lane(), t.block->next_copy, owner, owner.shared() + offset);
}

void EventRig::signal_mbarrier(const simt::AsyncCopy& copy, simt::Block& owner, uint32_t offset) {
  detector_->on_copy_begin(copy);
  detector_->on_mbarrier_signal(owner, owner.shared() + offset);
  detector_->on_copy_end(copy);
}

}  // namespace fb::race
