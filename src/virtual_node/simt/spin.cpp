// Spinning becomes sleeping. A loop whose live registers are the same after a whole iteration, which wrote nothing, and
// whose loads still see the same bytes, repeats for ever unless another agent writes one of the bytes that it read.

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt {
namespace {

constexpr uint32_t kFirstTry = 16;
constexpr uint32_t kLargestStep = 1024;
constexpr size_t kMaxReads = 4096;  // a loop that reads more than this is not a wait
constexpr size_t kMaxProbes = 8;    // nested loops watched at once

SpinProbe& probe_for(Split& split, const Inst& branch) {
  for (SpinProbe& p : split.probes) {
    if (p.branch == &branch && p.depth == split.calls.size()) return p;
  }
  if (split.probes.size() == kMaxProbes) split.probes.erase(split.probes.begin());
  SpinProbe p;
  p.branch = &branch;
  p.depth = split.calls.size();
  p.next_try = kFirstTry;
  return split.probes.emplace_back(std::move(p));
}

}  // namespace

const std::vector<Slot>& Warp::live_at(const Inst& branch) const {
  return program_->loop_live[static_cast<size_t>(branch.imm)];
}

bool Warp::same_live(const SpinProbe& probe, const std::vector<Slot>& slots, Mask lanes) const {
  const std::byte* old = probe.live.data();
  for (const Slot& slot : slots) {
    const std::byte* now = base[0] + slot.offset;
    if (slot.bytes == sizeof(Mask)) {
      Mask a, b;
      std::memcpy(&a, old, sizeof a);
      std::memcpy(&b, now, sizeof b);
      if (((a ^ b) & lanes) != 0) return false;
    } else if (lanes == kAllLanes) {
      if (std::memcmp(old, now, slot.bytes) != 0) return false;
    } else {
      const uint32_t width = slot.bytes / kLanes;
      for (Mask m = lanes; m != 0; m &= m - 1) {
        const auto at = static_cast<uint32_t>(std::countr_zero(m)) * width;
        if (std::memcmp(old + at, now + at, width) != 0) return false;
      }
    }
    old += slot.bytes;
  }
  return true;
}

bool Warp::judge_spin(const Inst& branch) {
  Split& s = splits_[current_];
  SpinProbe& p = probe_for(s, branch);
  ++p.count;
  if (!p.marked) {
    if (p.count < p.next_try) return false;
    const auto& slots = live_at(branch);
    p.live.clear();
    for (const Slot& slot : slots)
      p.live.insert(p.live.end(), base[0] + slot.offset, base[0] + slot.offset + slot.bytes);
    p.marked = true;
    p.effects = effects_;
    if (!marking_) {
      s.reads.clear();
      s.reads_clock = false;
    }
    p.reads = s.last_mark = static_cast<uint32_t>(s.reads.size());
    marking_ = true;
    return false;
  }
  p.marked = false;
  const bool unchanged = p.effects == effects_ && s.reads.size() < kMaxReads && same_live(p, live_at(branch), s.mask) &&
                         std::ranges::all_of(
                             s.reads,
                             [](const WatchedRead& r) {
                               return std::memcmp(r.host, r.seen, std::min<size_t>(r.bytes, sizeof r.seen)) == 0;
                             });
  marking_ = std::ranges::any_of(s.probes, &SpinProbe::marked);
  if (!unchanged) {
    p.next_try = p.count + std::clamp(p.count, kFirstTry, kLargestStep);
    return false;
  }
  p.next_try = p.count;  // awake again, it will most likely wait again
  s.asleep_on.assign(s.reads.begin() + p.reads, s.reads.end());
  s.reads.clear();
  for (SpinProbe& other : s.probes) other.marked = false;
  marking_ = false;
  s.state = SplitState::asleep;
  for (const WatchedRead& r : s.asleep_on) environment_->watch().add({this, s.id, r.host, r.bytes});
  return true;
}

void Warp::note_read(const std::byte* host, mem::Address guest, uint32_t bytes, const Inst& inst) {
  Split& split = splits_[current_];
  WatchedRead r{host, guest, bytes, &inst, {}};
  std::memcpy(r.seen, host, std::min<size_t>(bytes, sizeof r.seen));
  if (poll_watch_.watching()) {
    const bool shared =
        std::less_equal{}(block_->shared(), host) && std::less{}(host, block_->shared() + block_->shared_bytes());
    if (shared || mem::is_global(guest)) poll_watch_.on_read(split.id, r, shared);
    set_recording();
  }
  if (!marking_) return;
  auto& reads = split.reads;
  if (reads.size() >= kMaxReads) {
    // Too much for a wait. Loops inside this one may still be waits: let them be marked anew.
    for (SpinProbe& p : split.probes) {
      if (p.marked) p.next_try = p.count + kLargestStep;
      p.marked = false;
    }
    reads.clear();
    split.last_mark = 0;
    marking_ = false;
    set_recording();
    return;
  }
  // Lanes that read the same bytes are one read, but a read belongs to the iteration in which it was made.
  if (reads.size() > split.last_mark && reads.back().host == host && reads.back().bytes == bytes) return;
  reads.push_back(r);
}

void Warp::leave_sleep(Split& split) {
  for (const WatchedRead& r : split.asleep_on) environment_->watch().remove(this, split.id, r.host, r.bytes);
  split.asleep_on.clear();
  split.state = SplitState::ready;
}

void Warp::wake(uint32_t split_id) {
  for (Split& s : splits_) {
    if (s.id != split_id || s.state != SplitState::asleep) continue;
    leave_sleep(s);
    environment_->make_ready(*this, Environment::Cause::memory);
  }
}

bool Warp::sleep_on_polls() {
  if (!polls()) return false;
  for (Split& s : splits_) {
    if (s.state != SplitState::ready) continue;
    for (const PollWatch::Read& r : poll_watch_.reads()) {
      if (r.split == s.id) s.asleep_on.push_back(r.read);
    }
    if (s.asleep_on.empty()) continue;
    s.ip = s.asleep_on.front().inst;
    s.state = SplitState::asleep;
    for (const WatchedRead& r : s.asleep_on) environment_->watch().add({this, s.id, r.host, r.bytes});
  }
  return true;
}

void Warp::forget_reads() {
  marking_ = false;
  poll_watch_.forget_reads();
  set_recording();
  for (Split& s : splits_) {
    s.reads.clear();
    s.last_mark = 0;
    for (SpinProbe& p : s.probes) p.marked = false;
    if (s.state != SplitState::asleep) continue;
    leave_sleep(s);
    environment_->make_ready(*this, Environment::Cause::let_go);
  }
}

void Warp::look_again() {
  for (Split& s : splits_) {
    if (s.state != SplitState::asleep) continue;
    const bool changed = std::ranges::any_of(s.asleep_on, [](const WatchedRead& r) {
      return std::memcmp(r.host, r.seen, std::min<size_t>(r.bytes, sizeof r.seen)) != 0;
    });
    if (changed) wake(s.id);
  }
}

bool Warp::reads_clock_asleep() const {
  if (polls() && polls_clock_) return true;
  return std::ranges::any_of(splits_, [](const Split& s) { return s.state == SplitState::asleep && s.reads_clock; });
}

void Warp::wake_clock_readers() {
  for (Split& s : splits_) {
    if (s.state != SplitState::asleep || !s.reads_clock) continue;
    leave_sleep(s);
    environment_->make_ready(*this, Environment::Cause::let_go);
  }
}

}  // namespace fb::simt
