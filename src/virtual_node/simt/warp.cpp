#include "virtual_node/simt/warp.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "common/base/check.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"

namespace fb::simt {
namespace {

// Greater than any instruction: what a handler returns when its split can't go on.
const Inst* const kStop = reinterpret_cast<const Inst*>(~uintptr_t{0});

// Backward branches a split may take while others of its warp are ready: lanes that wait for each other must all
// get their turn.
constexpr uint32_t kTurns = 64;

constexpr size_t kMaxCallDepth = 1024;
constexpr uint64_t kMaxRegisterBytes = 64 << 20;

bool same_calls(const Split& a, const Split& b) {
  return std::ranges::equal(a.calls, b.calls, [](const CallFrame& x, const CallFrame& y) {
    return x.return_to == y.return_to && x.registers == y.registers;
  });
}

}  // namespace

Warp::Warp(Block& block, uint32_t index, Mask lanes)
    : block_(&block),
      environment_(&block.environment()),
      listener_(block.listener()),
      program_(block.grid().program),
      index_(index),
      present_(lanes) {
  const FunctionInfo& kernel = *block.grid().kernel;
  base[1] = const_cast<std::byte*>(program_->constants.data() + program_->constants.size());
  reserve_registers(kernel.frame_bytes);
  reserve_local(kernel.local_bytes);
  if (const mem::FreshBytes* fresh = block.grid().fresh) {
    const uint64_t number = block.index() * kLanes + index + 1;
    fresh->fill(std::as_writable_bytes(std::span(registers_)), number);
    fresh->fill(local_, ~number);
  }
  Split split;
  split.ip = kernel.entry;
  split.mask = lanes;
  split.function = &kernel;
  add_split(std::move(split));
  enter(0);
}

Stop Warp::run(uint64_t quantum, uint64_t& executed) {
  uint64_t left = quantum;
  yielded_ = false;
  while (left != 0) {
    if (!pick()) break;
    const uint64_t before = left;
    const Inst* ip = splits_[current_].ip;
    do {
      --left;
      const Inst& inst = *ip;
      exec = active;
      if (inst.guard != kAbsent) {
        exec &= *src<Mask>(inst.guard) ^ inst.guard_flip;
        if (exec == 0) {
          ++ip;
          continue;
        }
      }
      ip = inst.run(*this, inst);
    } while (ip < limit_ && left != 0);
    executed += before - left;
    if (ip != kStop) splits_[current_].ip = ip;
    if (yielded_) return Stop::quantum;
  }
  if (splits_.empty()) return Stop::finished;
  // The last lanes may have come to where the others wait with the quantum's last instruction.
  if (splits_.size() > 1) merge();
  const bool can_run = std::ranges::any_of(splits_, [](const Split& s) { return s.state == SplitState::ready; });
  return can_run ? Stop::quantum : Stop::blocked;
}

Split& Warp::add_split(Split split) {
  split.id = next_id_++;
  return splits_.emplace_back(std::move(split));
}

void Warp::enter(uint32_t k) {
  current_ = k;
  base[0] = reinterpret_cast<std::byte*>(registers_.data()) + splits_[k].registers;
  active = splits_[k].mask;
  marking_ = std::ranges::any_of(splits_[k].probes, &SpinProbe::marked);
  set_recording();
  set_limit();
}

// The running split must look up when it comes to a place where lanes wait to be joined, or passes a split that has
// the right to run first.
void Warp::set_limit() {
  limit_ = kStop;
  if (splits_.size() == 1) return;
  const Inst* here = splits_[current_].ip;
  for (uint32_t k = 0; k < splits_.size(); ++k) {
    const Split& s = splits_[k];
    if (k == current_ || (s.state != SplitState::ready && s.state != SplitState::lanes)) continue;
    if (s.ip > here) limit_ = std::min(limit_, s.ip);
  }
}

void Warp::merge() {
  for (size_t a = 0; a < splits_.size(); ++a) {
    if (splits_[a].state != SplitState::ready && splits_[a].state != SplitState::lanes) continue;
    for (size_t b = splits_.size() - 1; b > a; --b) {
      Split& x = splits_[a];
      Split& y = splits_[b];
      if (x.ip != y.ip || x.registers != y.registers || x.local != y.local) continue;
      if (y.state != SplitState::ready && y.state != SplitState::lanes) continue;
      if (!same_calls(x, y)) continue;
      // Joined lanes run the waiting instruction again, together.
      x.mask |= y.mask;
      x.state = SplitState::ready;
      x.wanted = 0;
      x.probes.clear();
      x.reads.clear();
      if (current_ == b) current_ = static_cast<uint32_t>(a);
      if (current_ > b) --current_;
      splits_.erase(splits_.begin() + static_cast<std::ptrdiff_t>(b));
    }
  }
}

bool Warp::pick() {
  if (splits_.size() > 1) merge();
  if (turns_ > kTurns && rotate()) return true;
  const Inst* best = nullptr;
  uint32_t choice = 0;
  for (uint32_t k = 0; k < splits_.size(); ++k) {
    const Split& s = splits_[k];
    if (s.state != SplitState::ready || (best && s.ip >= best)) continue;
    best = s.ip;
    choice = k;
  }
  if (!best) return false;
  enter(choice);
  return true;
}

bool Warp::rotate() {
  turns_ = 0;
  uint32_t choice = ptx::kNoIndex;
  for (uint32_t k = 0; k < splits_.size(); ++k) {
    const Split& s = splits_[k];
    if (s.state != SplitState::ready || s.id == turn_of_) continue;
    // The next id after the one that had the last turn, cyclically.
    const auto distance = [&](uint32_t id) { return id - turn_of_ - 1; };
    if (choice == ptx::kNoIndex || distance(s.id) < distance(splits_[choice].id)) choice = k;
  }
  if (choice == ptx::kNoIndex) return false;
  turn_of_ = splits_[choice].id;
  enter(choice);
  return true;
}

Split Warp::divide(Mask lanes) {
  Split& from = splits_[current_];
  FB_CHECK((lanes & ~from.mask) == 0);
  Split part;
  part.ip = from.ip;
  part.mask = lanes;
  part.registers = from.registers;
  part.local = from.local;
  part.function = from.function;
  part.calls = from.calls;
  from.mask &= ~lanes;
  active = from.mask;
  return part;
}

const Inst* Warp::branch(const Inst& inst, Mask taken, const Inst* target) {
  const Inst* next = &inst + 1;
  if (taken == active) return target > &inst ? target : backward(inst, target);
  if (taken == 0) return next;
  Split jumping = divide(taken);
  jumping.ip = target;
  add_split(std::move(jumping));
  splits_[current_].ip = next;
  if (target < next) return kStop;
  set_limit();
  return next;
}

const Inst* Warp::backward(const Inst& inst, const Inst* target) {
  splits_[current_].ip = target;
  if (judge_spin(inst)) return kStop;
  const bool polls = poll_watch_.on_branch();
  set_recording();
  if (polls) {
    yielded_ = true;
    return kStop;
  }
  if (splits_.size() > 1) {
    if (++turns_ > kTurns) return kStop;
    set_limit();
  }
  return target;
}

const Inst* Warp::exit_lanes(const Inst& inst) {
  exited_ |= exec;
  note_change();
  Split& s = splits_[current_];
  s.mask &= ~exec;
  active = s.mask;
  const bool gone = s.mask == 0;
  if (gone) {
    splits_.erase(splits_.begin() + current_);
  } else {
    s.ip = &inst + 1;
  }
  release_complete_lanes();
  block_->lanes_exited(*this);
  return kStop;
}

const Inst* Warp::branch_indexed(const Inst& inst, Mask taken, uint32_t index) {
  const Inst* target = program_->branch_tables[static_cast<size_t>(inst.imm)][index];
  if (taken == active) {
    splits_[current_].ip = target;
    if (target <= &inst && splits_.size() > 1 && ++turns_ > kTurns) return kStop;
    set_limit();
    return target;
  }
  // The other lanes that execute this instruction stay at it and come again.
  Split jumping = divide(taken);
  jumping.ip = target;
  add_split(std::move(jumping));
  if (const Mask skipping = active & ~exec; skipping != 0) {
    Split rest = divide(skipping);
    rest.ip = &inst + 1;
    add_split(std::move(rest));
  }
  if (active == 0) {
    splits_.erase(splits_.begin() + current_);
  } else {
    splits_[current_].ip = &inst;
  }
  return kStop;
}

const Inst* Warp::call_site(const Inst& inst, uint32_t k) {
  const CallSite& site = program_->calls[k];
  if (site.callee != ptx::kNoIndex) {
    const FunctionInfo& callee = program_->functions[site.callee];
    if (callee.entry) return call(inst, site, callee);
    callee.builtin(*this, inst, site);
    return &inst + 1;
  }
  // Through a pointer: lanes with the same target go together, the others come again.
  const auto* pointers = src<uint64_t>(inst.op[1]);
  const auto lane = static_cast<uint32_t>(std::countr_zero(exec));
  const uint64_t pointer = pointers[lane];
  const uint64_t index = (pointer - mem::kCodeWindow) / kCodeStride;
  const bool aligned = (pointer - mem::kCodeWindow) % kCodeStride == 0;
  if (pointer < mem::kCodeWindow || !aligned || index >= program_->functions.size() ||
      !program_->functions[index].entry || program_->functions[index].source->entry) {
    trap(TrapKind::bad_call, inst, lane, fmt::format("{:#x} is not the address of a function", pointer), pointer);
  }
  const FunctionInfo& callee = program_->functions[index];
  if (callee.params.size() != site.args.size() || callee.returns.size() != site.results.size()) {
    trap(TrapKind::bad_call, inst, lane,
         fmt::format("{} takes {} parameters and this call passes {}", callee.name, callee.params.size(),
                     site.args.size()));
  }
  Mask same = 0;
  for (Mask m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(std::countr_zero(m));
    same |= Mask{pointers[l] == pointer} << l;
  }
  if (same != exec) {
    Split later = divide(exec & ~same);
    later.ip = &inst;
    add_split(std::move(later));
    exec = same;
  }
  return call(inst, site, callee);
}

const Inst* Warp::call(const Inst& inst, const CallSite& site, const FunctionInfo& callee) {
  if (exec != active) {
    Split rest = divide(active & ~exec);
    rest.ip = &inst + 1;
    add_split(std::move(rest));
  }
  Split& s = splits_[current_];
  if (s.calls.size() >= kMaxCallDepth) {
    trap(TrapKind::stack_overflow, inst, static_cast<uint32_t>(std::countr_zero(exec)),
         fmt::format("more than {} nested calls", kMaxCallDepth));
  }
  if (uint64_t{s.registers} + s.function->frame_bytes + callee.frame_bytes > kMaxRegisterBytes) {
    trap(TrapKind::stack_overflow, inst, static_cast<uint32_t>(std::countr_zero(exec)),
         "the registers of all nested calls need too much memory");
  }
  const uint32_t from = s.registers;
  s.calls.push_back({&inst + 1, &site, s.function, s.registers, s.local});
  s.registers += s.function->frame_bytes;
  s.local += s.function->local_bytes;
  s.function = &callee;
  s.ip = callee.entry;
  reserve_registers(s.registers + callee.frame_bytes);
  if (s.local + callee.local_bytes > kMaxLocalBytes) {
    trap(TrapKind::stack_overflow, inst, static_cast<uint32_t>(std::countr_zero(exec)),
         fmt::format("more than {} bytes of local memory", kMaxLocalBytes));
  }
  reserve_local(s.local + callee.local_bytes);
  auto* file = reinterpret_cast<std::byte*>(registers_.data());
  for (size_t k = 0; k < site.args.size(); ++k) {
    const LaneBytes &to = callee.params[k], &arg = site.args[k];
    for (Mask m = exec; m != 0; m &= m - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(m));
      std::memcpy(file + s.registers + to.offset + lane * to.bytes, file + from + arg.offset + lane * arg.bytes,
                  std::min(to.bytes, arg.bytes));
    }
  }
  base[0] = file + s.registers;
  set_limit();
  return callee.entry >= limit_ ? kStop : callee.entry;
}

const Inst* Warp::return_from(const Inst& inst) {
  if (splits_[current_].calls.empty()) return exit_lanes(inst);
  if (exec != active) {
    Split rest = divide(active & ~exec);
    rest.ip = &inst + 1;
    add_split(std::move(rest));
  }
  Split& s = splits_[current_];
  const CallFrame frame = s.calls.back();
  s.calls.pop_back();
  std::erase_if(s.probes, [&](const SpinProbe& p) { return p.depth > s.calls.size(); });
  auto* file = reinterpret_cast<std::byte*>(registers_.data());
  for (size_t k = 0; k < frame.site->results.size(); ++k) {
    const LaneBytes &result = s.function->returns[k], &to = frame.site->results[k];
    for (Mask m = exec; m != 0; m &= m - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(m));
      std::memcpy(file + frame.registers + to.offset + lane * to.bytes,
                  file + s.registers + result.offset + lane * result.bytes, std::min(to.bytes, result.bytes));
    }
  }
  s.registers = frame.registers;
  s.local = frame.local;
  s.function = frame.caller;
  s.ip = frame.return_to;
  return kStop;
}

const Inst* Warp::wait(const Inst& inst, SplitState state, uint32_t barrier) {
  if (exec != active) {
    Split rest = divide(active & ~exec);
    rest.ip = &inst + 1;
    add_split(std::move(rest));
  }
  Split& s = splits_[current_];
  s.ip = &inst;
  s.behind = false;
  s.state = state;
  s.barrier = barrier;
  ++effects_;
  return kStop;
}

const Inst* Warp::wait_behind(const Inst& inst, SplitState state, uint32_t barrier) {
  wait(inst, state, barrier);
  splits_[current_].ip = &inst + 1;
  splits_[current_].behind = true;
  return kStop;
}

// PTX: an instruction with .sync waits for all non-exited threads of its mask; a thread that executes it must be one of
// them.
bool Warp::gather(const Inst& inst, Mask members, const Inst*& next) {
  members &= present_ & ~exited_;
  const Mask strangers = exec & ~members;
  if (strangers != 0) {
    trap(TrapKind::sync_lane_missing, inst, static_cast<uint32_t>(std::countr_zero(strangers)),
         fmt::format("this lane executes a .sync instruction whose mask {:#010x} does not name it", members));
  }
  if ((members & ~exec) == 0) return true;
  next = wait(inst, SplitState::lanes);
  splits_[current_].wanted = members;
  return false;
}

const Inst* Warp::gather_anywhere(const Inst& inst, Mask members) {
  members &= present_;
  const Mask strangers = exec & ~members;
  if (strangers != 0) {
    trap(TrapKind::sync_lane_missing, inst, static_cast<uint32_t>(std::countr_zero(strangers)),
         fmt::format("this lane executes bar.warp.sync with mask {:#010x}, which does not name it", members));
  }
  Mask here = exec | exited_;
  for (const Split& s : splits_) {
    if (s.state == SplitState::warp_barrier && s.wanted == members) here |= s.mask;
  }
  if ((members & ~here) == 0) {
    for (Split& s : splits_) {
      if (s.state == SplitState::warp_barrier && s.wanted == members) s.state = SplitState::ready;
    }
    splits_[current_].ip = &inst + 1;
    if (splits_.size() > 1) return kStop;
    return &inst + 1;
  }
  wait_behind(inst, SplitState::warp_barrier);
  splits_[current_].wanted = members;
  return kStop;
}

// Lanes have exited: splits that waited only for them can go on.
void Warp::release_complete_lanes() {
  for (Split& s : splits_) {
    if (s.state == SplitState::lanes && (s.wanted & ~(s.mask | exited_)) == 0) s.state = SplitState::ready;
    if (s.state != SplitState::warp_barrier) continue;
    Mask here = exited_;
    for (const Split& other : splits_) {
      if (other.state == SplitState::warp_barrier && other.wanted == s.wanted) here |= other.mask;
    }
    if ((s.wanted & ~here) != 0) continue;
    const Mask wanted = s.wanted;
    Mask released = 0;
    for (Split& other : splits_) {
      if (other.state != SplitState::warp_barrier || other.wanted != wanted) continue;
      other.state = SplitState::ready;
      released |= other.mask;
    }
    // The barrier is complete without an arrival.
    if (listener_)
      listener_->on_sync(*this, {SyncKind::warp, MemoryOrder::acq_rel, Scope::cta, wanted, released, s.ip - 1});
  }
}

const Inst* Warp::yield(const Inst& inst) {
  splits_[current_].ip = &inst + 1;
  yielded_ = true;
  return kStop;
}

void Warp::look_again_later() {
  preempt();
  if (splits_.size() == 1) return;
  turn_of_ = splits_[current_].id;
  turns_ = kTurns + 1;
}

void Warp::release(SplitState state, uint32_t barrier) {
  bool any = false;
  for (Split& s : splits_) {
    if (s.state != state || s.barrier != barrier) continue;
    s.state = SplitState::ready;
    any = true;
  }
  if (any) environment_->make_ready(*this, Environment::Cause::let_go);
}

void Warp::reserve_registers(uint32_t bytes) {
  const size_t lines = (bytes + sizeof(Line) - 1) / sizeof(Line);
  if (lines > registers_.size()) registers_.resize(lines);
}

void Warp::reserve_local(uint32_t bytes) {
  if (bytes <= local_stride_) return;
  const uint32_t stride = std::max((bytes + 15) / 16 * 16, local_stride_ * 2);
  std::vector<std::byte> grown(static_cast<size_t>(stride) * kLanes);
  for (uint32_t lane = 0; lane < kLanes && local_stride_ != 0; ++lane) {
    std::memcpy(grown.data() + static_cast<size_t>(lane) * stride, local(lane), local_stride_);
  }
  forget_reads();  // some may be of the old bytes
  local_ = std::move(grown);
  local_stride_ = stride;
}

void Warp::trap(TrapKind kind, const Inst& inst, uint32_t lane, std::string message, mem::Address a, uint32_t bytes) {
  throw Trap{kind, std::move(message), &inst, lane, a, bytes};
}

}  // namespace fb::simt
