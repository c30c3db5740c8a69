#pragma once

// The most recent times that one agent read a flag of another. The cause of a race is among them: the agents did not
// synchronise, or not well enough.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "virtual_node/race/agents/agents.h"
#include "virtual_node/race/clocks/sync_clock.h"
#include "virtual_node/race/shadow/shadow_cell.h"

namespace fb::race {

// Why a flag that was read has ordered nothing; `none`: it has.
enum class MissedSync : uint8_t { none, not_released, not_acquired, writer_scope, reader_scope, size };

struct SyncEdge {
  uint64_t number = 0;  // 0: none
  ShadowCell write;
  uint32_t write_lane = 0;
  bool released = false;
  Site release_site = 0;  // the fence or release
  Scope release_scope = Scope::none;
  ReleaseClock release;
  ClockRef writer_clock;
  Epoch writer_base = 0;  // accesses of the writer's block up to here happen before the write
  ShadowCell read;
  Mask read_lanes = 0;
  Scope acquire_scope = Scope::none;
  bool relaxed_read = false;  // the load itself does not acquire; a fence behind it may
  MissedSync missed{};
};

class SyncLog {
 public:
  explicit SyncLog(const Agents& agents) : agents_(agents) {}

  // Returns its number.
  uint64_t note(const SyncEdge& edge);
  // Null: overwritten by newer ones.
  SyncEdge* edge(uint64_t number);
  // The last flag that the block of `later`, or an earlier operation of its stream, read and that was written after
  // `earlier`: by its thread, or by a thread that `earlier` happens before. Null: none.
  const SyncEdge* last_between(const ShadowCell& earlier, uint32_t earlier_lane, const ShadowCell& later) const;
  // The last flag that ordered nothing and was set by the block of `earlier` after it, or was read by the block of
  // `later`: a link of a chain through other threads. Null: none.
  const SyncEdge* missed_on_the_way(const ShadowCell& earlier, const ShadowCell& later) const;
  // The last flag of a network card that the block of `later`, or an earlier operation of its stream, read; one of this
  // queue pair before others. Null: none.
  const SyncEdge* last_of_card(uint64_t pair, const ShadowCell& later) const;
  // The last flag that the block of `earlier` has released behind it and that others than the block of `later` have
  // read. Null: none.
  const SyncEdge* read_by_others(const ShadowCell& earlier, const ShadowCell& later) const;

 private:
  static constexpr size_t kEdges = 4096;

  // By the block of `later`, or by an earlier operation of its stream.
  bool is_read_before(const SyncEdge& edge, const ShadowCell& later) const;

  const Agents& agents_;
  std::vector<SyncEdge> edges_;  // a ring: number % kEdges
  uint64_t next_ = 1;
};

}  // namespace fb::race
