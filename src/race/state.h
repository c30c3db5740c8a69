#pragma once

// What the checker keeps of agents that are at work. Private to the checker's own files.

#include <algorithm>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "race/detector.h"
#include "simt/block.h"
#include "simt/warp.h"

namespace fb::race {

struct Detector::OperationState {
  uint32_t number = 0;
  BlockId block = 0;                            // by which it acts itself; 0: has not acted
  ClockRef knows;                               // when it begins
  uint32_t knows_all_of = 0;                    // an operation that it was found to know as a whole; 0: none
  ClockRef leaves;                              // what its blocks that have ended knew
  ClockRef joined;                              // the last that was added to it
  std::vector<std::shared_ptr<bool>> observed;  // … and have seen: WarpState::observed
};

// Line `line` of a shadow, and where its bytes are.
struct Detector::Whereabouts {
  Shadow* shadow = nullptr;
  uint64_t line = 0;
  std::byte* host = nullptr;                    // of byte 0 of the line; null: bytes are not to be read
  const mem::Allocation* allocation = nullptr;  // null: shared memory
};

// The access that is being looked at.
struct Detector::Doing {
  Mark mark;
  WarpState* warp = nullptr;  // null: an operation acts
  OperationState* operation = nullptr;
  BlockState* block = nullptr;
  Mask lanes = simt::kAllLanes;  // that take part
  bool async = false;            // through the asynchronous proxy
  bool may_be_late = false;      // a load that may get older bytes
  Mask late = 0;                 // lanes that do
  uint32_t lane_bytes = 0;
};

// A strong load that has seen a signal, until a fence makes an acquire of it.
struct Detector::Heard {
  Mask lanes = 0;
  const void* flag_line = nullptr;
  uint32_t flag_offset = 0;
  Site site = 0;
  std::vector<Signal> signals;
  std::vector<uint64_t> edges;  // of each signal: Edge::number
};

// Why a signal that was seen has ordered nothing, or that it has.
enum class Trouble : uint8_t { none, not_released, not_acquired, writer_scope, reader_scope, size };

struct Detector::Edge {
  uint64_t number = 0;  // 0: none
  Mark write;
  uint32_t write_lane = 0;
  bool released = false;
  Site release_site = 0;  // the fence or release
  Scope release_scope = Scope::none;
  Handed handed;
  ClockRef knew;  // what the writer knew
  Mark read;
  Mask read_lanes = 0;
  Scope acquire_scope = Scope::none;
  Trouble trouble{};
};

// Of some lanes of a warp only.
struct LaneKnowledge {
  Mask lanes = 0;
  Knowledge what;
};

struct FenceMark {
  Mask lanes = 0;
  Scope scope = Scope::none;
  Site site = 0;
  Handed handed;
};

struct Detector::WarpState {
  BlockState* block = nullptr;
  simt::Warp* warp = nullptr;
  uint16_t index = 0;
  Site first_site = 0;
  const SiteTraits* traits = nullptr;  // of its program's instructions, by Inst::origin
  bool exited = false;
  Knowledge known;                   // by all lanes
  Tick base = 0;                     // all lanes know what all lanes did up to here
  std::vector<LaneKnowledge> lanes;  // what only some know besides
  std::vector<FenceMark> fences;     // the last of each scope
  std::vector<Heard> heard;
  Mask met = 0;                                 // lanes that have come to bar.warp.sync
  Mask wanted = 0;                              // … of these
  std::vector<std::shared_ptr<bool>> observed;  // Past::settled of writes that strong loads have seen

  Mask live() const { return warp->present() & ~warp->exited(); }

  // Releases that lanes have acquired of late: who polls a flag sees the same one again and again.
  struct Acquired {
    BlockId block = 0;
    uint16_t warp = 0;
    Mask of = 0;
    Tick tick = 0;
    Mask by = 0;
    ClockRef merged;  // of a signal that stands for several: what it hands on
  };
  static constexpr size_t kAcquired = 32;
  Acquired acquired[kAcquired];
  size_t next_acquired = 0;

  bool has_acquired(const Signal& signal, Mask who) const {
    const Handed& handed = signal.handed;
    return std::ranges::any_of(acquired, [&](const Acquired& a) {
      return a.block == handed.block && a.tick == handed.of_lanes && a.warp == handed.warp && a.of == handed.lanes &&
             (who & ~a.by) == 0 && a.merged == (signal.merged ? handed.known.all : nullptr);
    });
  }
  void note_acquired(const Signal& signal, Mask who) {
    const Handed& handed = signal.handed;
    acquired[next_acquired++ % kAcquired] = {handed.block,    handed.warp, handed.lanes,
                                             handed.of_lanes, who,         signal.merged ? handed.known.all : nullptr};
  }

  // Who was found to be known as a whole: most questions are asked again and again.
  struct Known {
    BlockId block = 0;
    uint16_t warp = 0;
    Tick tick = 0;
  };
  static constexpr size_t kKnown = 16;
  Known cache[kKnown];
};

// A barrier that is filling up.
struct Detector::Meeting {
  Knowledge known;
  Knowledge last;  // of the warp that came last
  std::vector<Entry> own;
  uint64_t phase = 0;
  bool complete = false;
};

struct Detector::AsyncIssue {
  BlockId block = 0;
  uint16_t warp = 0;  // from 1
  Mask lanes = 0;
  Tick tick = 0;
};

struct Detector::BlockState {
  BlockId id = 0;
  StreamPlace place;  // of its operation
  simt::Block* block = nullptr;
  OperationState* operation = nullptr;
  Tick tick = 1;
  Tick base = 0;        // every warp knows what every warp did up to here
  Tick async_tick = 1;  // of its copies
  std::vector<std::unique_ptr<WarpState>> warps;
  uint32_t left = 0;
  std::unique_ptr<Shadow> shared;
  Meeting barriers[16];
  Knowledge sc;
  std::unordered_map<uint32_t, Meeting> mbarriers;  // by offset in shared memory
  std::unordered_map<uint64_t, AsyncIssue> copies;  // by AsyncCopy::sequence
  // Ticks of the commits of each lane of each warp, for the groups that may still be waited for.
  std::unordered_map<uint32_t, std::deque<Tick>> commits;
};

struct Detector::ClusterState {
  uint64_t number = 0;
  uint32_t blocks = 0;
  Meeting phases[2];
};

}  // namespace fb::race
