#pragma once

// The race checker: happens-before with the scopes of PTX, over every access of every agent of a node. It sees all
// accesses in the order in which the machine performs them, and asks of every two that conflict whether the program
// orders them, whatever the schedule was. The rules are those of docs/memory_model.md.
//
// In the same run it can be the adversary: where the newest write is not ordered before a load, the load may get older
// bytes, as on hardware where the store has not arrived yet (weak delivery).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "mem/address_space.h"
#include "race/agents.h"
#include "race/flag.h"
#include "race/report.h"
#include "race/shadow.h"
#include "simt/async.h"
#include "simt/block.h"
#include "simt/listener.h"
#include "simt/source_location.h"

namespace fb::race {

struct Options {
  uint64_t seed = 0;
  bool strict = false;       // reports what only hardware's habits make work: flags inside vectors
  uint32_t weak_lines = 4;   // older contents are kept of one in so many lines; 0: no weak delivery
  uint32_t weak_chance = 4;  // one in so many loads that could get older bytes gets them
  std::string why;           // "m7+0x40": write down everything that touches this byte
};

class Detector final : public simt::Listener {
 public:
  using ReportFn = std::function<void(Report&&)>;
  using LocateFn = std::function<simt::SourceLocation(const simt::Program& program, uint32_t origin)>;

  Detector(const Options& options, LocateFn locate, ReportFn report);
  ~Detector() override;

  // --- Operations of streams. `knows`: what those before it, and the host that issued it, have handed on.
  uint32_t begin_operation(OperationInfo info, const ClockRef& knows);
  // What whoever comes behind it knows.
  ClockRef end_operation(uint32_t operation);
  // The blocks of this grid belong to the operation, from now on.
  void begin_grid(uint64_t grid, uint32_t operation);
  // Bytes that an operation which is no kernel reads or writes: copies, fills, the judge.
  void access(uint32_t operation, AccessKind kind, mem::Allocation& allocation, uint64_t offset, uint64_t bytes);
  // A strong access of a stream to a word (cuStreamWriteValue, cuStreamWaitValue).
  void write_value(uint32_t operation, mem::Allocation& allocation, uint64_t offset, uint32_t bytes);
  void wait_value(uint32_t operation, mem::Allocation& allocation, uint64_t offset, uint32_t bytes);

  // What a process has been told by its devices: through memory that both see, or by the end of work.
  ClockRef host_of(uint32_t host) const;
  void host_learns(uint32_t host, const ClockRef& what);

  // Before a module goes: its instructions can't be named any more.
  void forget(const simt::Program& program) { agents_.forget(program); }
  // Everything that touched the byte that Options::why names, a line each.
  const std::vector<std::string>& history() const { return history_; }

  // --- simt::Listener
  void on_access(simt::Warp& w, const simt::Access& access) override;
  void on_sync(simt::Warp& w, const simt::Sync& sync) override;
  void on_warp_start(simt::Warp& w) override;
  void on_warp_exit(simt::Warp& w) override;
  void on_copy_issue(const simt::AsyncCopy& copy) override;
  void on_copy_begin(const simt::AsyncCopy& copy) override;
  void on_copy_end(const simt::AsyncCopy& copy) override;
  void on_mbarrier_signal(simt::Block& owner, const std::byte* at) override;

 private:
  struct BlockState;
  struct WarpState;
  struct ClusterState;
  struct Meeting;
  struct Doing;
  struct Heard;
  struct Edge;
  struct OperationState;
  struct Whereabouts;
  struct AsyncIssue;

  // Accesses (detector_access.cpp)
  Shadow& shadow_of(mem::Allocation& allocation);
  template <class F>
  void each_piece(WarpState& s, mem::Address a, uint64_t bytes, F f);
  void access_run(WarpState& s, Doing& doing, mem::Address a, uint64_t bytes);
  void async_access(WarpState& s, const simt::Access& access, Doing& doing);
  Doing doing_of(OperationState& op, AccessKind kind);
  Line& touch_word(Doing& doing, mem::Allocation& allocation, uint64_t offset, uint32_t bytes);
  void touch_range(Doing& doing, Shadow& shadow, const mem::Allocation* allocation, std::byte* host, uint64_t offset,
                   uint64_t bytes);
  void touch(Doing& doing, Line& line, const Whereabouts& at, uint32_t begin, uint32_t end);
  void look(Doing& doing, const Segment& segment, const Whereabouts& at);
  void look_at(Doing& doing, const Mark& earlier, const Segment& segment, const Whereabouts& at);
  bool earlier_lanes_matter(const Doing& doing, const Mark& earlier) const;
  static bool has_read(const Doing& doing, const Segment& segment);
  void leave(Doing& doing, Segment& segment);
  bool is_ordered(const Doing& doing, const Mark& mark, uint32_t offset);
  bool is_known(const Doing& doing, const Mark& mark, Mask lanes, Mask mine, const ClockRef& clock);
  bool has_seen(const Doing& doing, const Mark& write, const Whereabouts& at, uint32_t offset) const;
  bool are_morally_strong(const Mark& a, const Mark& b) const;
  bool includes(Scope scope, BlockId own, BlockId other) const;
  void look_inside(WarpState& s, const simt::Access& access, const Mark& mark);

  // Weak delivery (detector_weak.cpp)
  void keep_past(const Doing& doing, Line& line, const Whereabouts& at, uint32_t begin, uint32_t end);
  void choose_past(Doing& doing, Line& line, uint32_t begin, uint32_t end);
  // What the warp has seen, others are about to be told.
  void settle(WarpState& s);

  // Synchronisation (detector_sync.cpp)
  void strong_access(WarpState& s, const simt::Access& access, Doing& doing);
  void strong_read(WarpState& s, const simt::Access& access, const Doing& doing, Mask lanes, Line& line,
                   const Flag& flag, uint32_t offset, uint32_t bytes);
  void acquire_heard(WarpState& s, Mask lanes, Scope scope, const simt::Access* load);
  void strong_write(WarpState& s, const simt::Access& access, const Doing& doing, const SignalsRef& own, Flag& flag);
  void host_hears(const WarpState& s, const Doing& doing, const Signals& signals);
  SignalsRef make_signals(WarpState& s, const simt::Access& access, const Mark& mark, uint32_t lane);
  static SignalsRef with_earlier(const WarpState& s, const SignalsRef& own, const Signals& found);
  void shorten(Signals& signals);
  void fence(WarpState& s, const simt::Sync& sync);
  void proxy_fence(WarpState& s, Mask lanes);
  void learn(WarpState& s, Mask lanes, const Knowledge& what);
  void learn_news(WarpState& s, Mask lanes, const Knowledge& what);
  Knowledge knowledge_of(const WarpState& s, Mask lanes) const;
  Handed hand_over(WarpState& s, Mask lanes);
  void meet(WarpState& s);
  void warp_barrier(WarpState& s, const simt::Sync& sync);
  void block_arrive(WarpState& s, const simt::Sync& sync);
  void block_release(WarpState& s, const simt::Sync& sync);
  void cluster_barrier(WarpState& s, const simt::Sync& sync);
  void mbarrier(WarpState& s, const simt::Sync& sync);
  void async_group(WarpState& s, const simt::Sync& sync);

  // Words (detector_report.cpp)
  uint64_t note_edge(const Edge& edge);
  Edge* edge_of(uint64_t number);
  void report_race(const Doing& doing, const Mark& earlier, const Whereabouts& at, uint32_t offset);
  const Edge* find_edge(const Mark& earlier, uint32_t earlier_lane, const Mark& later) const;
  std::string who(const Mark& mark, uint32_t lane) const;
  std::string where(Site site) const;
  std::string what(const Mark& mark) const;
  std::string location(const Whereabouts& at, uint32_t offset) const;
  void note_history(const Doing& doing, const Whereabouts& at, uint32_t begin, uint32_t end);

  WarpState& state_of(simt::Warp& w);
  void forget_blocks(const StreamPlace& of);

  Options options_;
  LocateFn locate_;
  ReportFn report_;
  Agents agents_;
  Rng rng_;
  std::unordered_map<uint32_t, std::unique_ptr<OperationState>> operations_;
  std::unordered_map<uint64_t, uint32_t> grids_;
  std::unordered_map<uint32_t, ClockRef> hosts_;  // by process
  std::unordered_map<const simt::Block*, std::unique_ptr<BlockState>> blocks_;
  std::unordered_map<const simt::Cluster*, std::unique_ptr<ClusterState>> clusters_;
  uint32_t next_shadow_ = 1;
  uint64_t next_cluster_ = 1;
  // What fences of order sc have left, by how far they reach.
  Knowledge sc_of_all_;
  std::unordered_map<uint32_t, Knowledge> sc_of_device_;
  // How agents have heard of each other of late: the cause of a race is among them.
  std::vector<Edge> edges_;
  uint64_t next_edge_ = 1;
  std::set<std::tuple<std::string, std::string, RaceClass>> reported_;  // places of both, as people read them
  uint64_t writes_ = 0;
  const AsyncIssue* completing_ = nullptr;
  std::vector<std::string> history_;
  uint32_t why_shadow_ = 0;
  uint64_t why_offset_ = 0;
  const std::byte* old_bytes_[simt::kLanes] = {};
};

}  // namespace fb::race
