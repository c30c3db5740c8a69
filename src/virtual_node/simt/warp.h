#pragma once

// Thirty-two threads in lock step where they agree, in splits where they do not.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "virtual_node/mem/address_space.h"
#include "virtual_node/simt/inst.h"
#include "virtual_node/simt/listener.h"
#include "virtual_node/simt/poll.h"
#include "virtual_node/simt/trap.h"
#include "virtual_node/simt/watch.h"
#include "virtual_node/simt/watched_read.h"

namespace fb::simt {

class Block;
class Environment;

// Local memory a thread may have, all nested calls together.
inline constexpr uint32_t kMaxLocalBytes = 512 * 1024;

// What a split may be waiting for.
enum class SplitState : uint8_t {
  ready,
  barrier,          // bar.sync
  cluster_barrier,  // barrier.cluster.wait
  lanes,            // a .sync instruction whose lanes have not all come
  warp_barrier,     // bar.warp.sync: the lanes may come from other instructions
  async,            // copies of its own that have not completed
  asleep,           // a loop that only waits for memory to change
};

// Judges whether a loop is a pure wait: same live registers, nothing written, since the mark was set.
struct SpinProbe {
  const Inst* branch = nullptr;
  size_t depth = 0;       // calls it is nested in: a loop of a function that is called again is another loop
  uint32_t count = 0;     // times taken
  uint32_t next_try = 0;  // when to set the mark again; doubles after each miss
  bool marked = false;
  uint64_t effects = 0;  // Warp::effects_ at the mark
  uint32_t reads = 0;    // Split::reads.size() at the mark
  std::vector<std::byte> live;
};

struct CallFrame {
  const Inst* return_to = nullptr;
  const CallSite* site = nullptr;
  const FunctionInfo* caller = nullptr;
  uint32_t registers = 0;  // the caller's frame
  uint32_t local = 0;
};

// Lanes of a warp that share a program counter and a call stack.
struct Split {
  const Inst* ip = nullptr;
  Mask mask = 0;
  SplitState state = SplitState::ready;
  uint32_t id = 0;         // unique in its warp, never reused
  uint32_t registers = 0;  // byte offset of the frame in the warp's register file
  uint32_t local = 0;      // byte offset of the frame in each lane's local memory
  const FunctionInfo* function = nullptr;
  std::vector<CallFrame> calls;

  // Spinning.
  bool reads_clock = false;  // since the last mark: a loop that may end by time alone
  std::vector<WatchedRead> reads;
  uint32_t last_mark = 0;  // reads.size() when a probe was marked last
  std::vector<SpinProbe> probes;
  std::vector<WatchedRead> asleep_on;
  uint32_t barrier = 0;  // which one, in state `barrier`
  bool behind = false;   // waits behind the instruction that made it wait, not at it
  Mask wanted = 0;       // lanes that must come, in states `lanes` and `warp_barrier`
};

// Virtual time of a warp, in picoseconds. Advanced by the scheduler and by listeners; the engine does not look at
// it.
struct WarpClock {
  uint64_t now = 0;
  uint64_t loads = 0;   // when the last load that is under way returns
  uint64_t stores = 0;  // when the last store that is under way is acknowledged

  // Inside the multiprocessor (timing.h).
  uint64_t settled = 0;        // up to here contention for units is accounted for
  PartTimes occupied{};        // units since then
  uint64_t products = 0;       // when the last matrix product that is under way is complete
  bool profiled = false;       // the listener wants to know where time goes
  bool tracked = false;        // … and which constants of the platform it scales with
  uint64_t tracked_until = 0;  // up to here it knows that
  uint64_t slots[kLoadSlots] = {};
};

// Why run() came back.
enum class Stop : uint8_t { quantum, blocked, finished };

class Warp final : public Watcher {
 public:
  Warp(Block& block, uint32_t index, Mask lanes);

  // Runs until the quantum of instructions is used up, nothing in the warp can go on, or all threads have exited.
  // Adds what was executed to `executed`. Throws Trap.
  Stop run(uint64_t quantum, uint64_t& executed);

  // For instructions
  std::byte* base[2] = {nullptr, nullptr};  // frame of the running split; end of the constant pool
  Mask active = 0;                          // lanes of the running split
  Mask exec = 0;                            // those that execute this instruction
  const mem::Window* window = nullptr;      // of the last access to global memory
  bool recording = true;                    // loads must be noted: a probe is marked, or polling is being judged
  Mask carry = 0;                           // the condition code CC.CF of each lane

  template <class T>
  T* row(int32_t offset) {
    return reinterpret_cast<T*>(base[0] + offset);
  }
  template <class T>
  const T* src(int32_t offset) const {
    return reinterpret_cast<const T*>(base[offset < 0] + offset);
  }
  Mask predicate(const Inst& inst, int k) const {
    const Mask m = *src<Mask>(inst.op[k]);
    return (inst.negated >> k & 1) != 0 ? ~m : m;
  }
  void set_predicate(int32_t offset, Mask value) {
    Mask& m = *row<Mask>(offset);
    m = (m & ~exec) | (value & exec);
  }

  Block& block() { return *block_; }
  const Block& block() const { return *block_; }
  Environment& environment() { return *environment_; }
  Listener* listener() { return listener_; }
  const Program& program() const { return *program_; }
  uint32_t index() const { return index_; }  // in its block
  Mask present() const { return present_; }  // lanes that were ever there
  Mask exited() const { return exited_; }
  Split& split() { return splits_[current_]; }
  const std::vector<Split>& splits() const { return splits_; }
  // For reports: the registers of a split, whether it runs or not.
  const std::byte* frame_of(const Split& split) const { return registers_[0].bytes + split.registers; }

  // Control flow: what the handlers of branches and calls return.
  const Inst* branch(const Inst& inst, Mask taken, const Inst* target);
  const Inst* exit_lanes(const Inst& inst);
  const Inst* branch_indexed(const Inst& inst, Mask taken, uint32_t index);
  const Inst* call_site(const Inst& inst, uint32_t site);
  const Inst* return_from(const Inst& inst);

  // The executing lanes wait here, at `inst`, which runs again when they are released; other active lanes go on.
  const Inst* wait(const Inst& inst, SplitState state, uint32_t barrier = 0);
  // The same, but released lanes go on behind `inst`.
  const Inst* wait_behind(const Inst& inst, SplitState state, uint32_t barrier = 0);
  // For .sync instructions: true when all lanes of `members` are here. Otherwise they wait and `next` is set.
  bool gather(const Inst& inst, Mask members, const Inst*& next);
  // bar.warp.sync: like gather, but the lanes may stand at different instructions.
  const Inst* gather_anywhere(const Inst& inst, Mask members);
  // Lets another warp run; the executing split goes on behind `inst` later.
  const Inst* yield(const Inst& inst);

  // Releases splits in the given state; the warp becomes runnable.
  void release(SplitState state, uint32_t barrier = 0);
  void wake(uint32_t split_id) override;

  // Spinning becomes sleeping: called by every taken backward branch. True if the split was put to sleep.
  bool judge_spin(const Inst& branch);
  void note_effect() { ++effects_; }
  // Something has changed that threads of other blocks can see.
  void note_change() {
    if (!poll_watch_.watching()) return;
    poll_watch_.on_change();
    set_recording();
  }
  // Lanes arrive at a barrier: a loop that does nothing else waits.
  void note_barrier() {
    ++effects_;
    poll_watch_.on_wait();
  }
  void note_clock() {
    splits_[current_].reads_clock = true;
    poll_watch_.on_wait();
    polls_clock_ = true;
  }
  // Whether stores must say what they change.
  bool judges_polling() const { return poll_watch_.watching(); }
  // For a while the warp has changed nothing that others see, and has read nothing new.
  bool polls() const { return poll_watch_.polls(); }
  PollWatch& poll_watch() { return poll_watch_; }
  const PollWatch& poll_watch() const { return poll_watch_; }
  // For reports, when nothing can end the polling: its splits sleep on what they read. False: it does not poll.
  bool sleep_on_polls();
  void note_read(const std::byte* host, mem::Address guest, uint32_t bytes, const Inst& inst);
  // Ends a wait that time alone may end.
  void wake_clock_readers();
  bool reads_clock_asleep() const;
  // Memory may have been changed by a process outside the machine: wakes the splits that sleep on bytes that did.
  void look_again();
  // Bytes that loops have read are going away: splits that sleep on them wake and read again.
  void forget_reads();

  // Memory. `bytes` at `a` of lane `lane` in the given space; throws Trap. `a` is an address in `space`.
  std::byte* resolve(const Inst& inst, ptx::Space space, uint32_t lane, mem::Address a, uint32_t bytes);
  // Global memory only, for a range shared by several lanes; null when it is not valid as a whole.
  std::byte* find_global(mem::Address a, uint64_t bytes);
  // On request (Grid::check_uninitialised_shared): traps if a byte of shared memory was never written.
  void check_initialised(const Inst& inst, uint32_t lane, const std::byte* at, mem::Address a, uint32_t bytes);
  void mark_initialised(const std::byte* at, uint32_t bytes);
  std::byte* local(uint32_t lane) { return local_.data() + static_cast<size_t>(lane) * local_stride_; }
  uint32_t local_stride() const { return local_stride_; }

  [[noreturn]] void trap(TrapKind kind, const Inst& inst, uint32_t lane, std::string message, mem::Address a = 0,
                         uint32_t bytes = 0);

  bool queued = false;             // the scheduler's mark: in its run queue
  void* listener_state = nullptr;  // the listener's own
  // Set by a listener during on_access of a load: the lanes for which it is not null get these bytes instead of
  // memory's.
  const std::byte* const* old_bytes = nullptr;
  WarpClock clock;
  // For listeners: run() returns behind the instruction that is being executed.
  void preempt() {
    yielded_ = true;
    limit_ = nullptr;
  }
  // The same for lanes that wait for something in a loop: the other lanes of the warp go first, too.
  void look_again_later();

 private:
  friend class Block;

  Split& add_split(Split split);
  Split divide(Mask lanes);    // takes `lanes` out of the running split
  void enter(uint32_t split);  // makes it the running one
  bool pick();                 // the next split to run; false: none can
  bool rotate();               // selects another ready split than the running one, round-robin
  void merge();                // splits at the same pc become one
  const Inst* call(const Inst& inst, const CallSite& site, const FunctionInfo& callee);
  const Inst* backward(const Inst& inst, const Inst* target);
  void set_limit();
  void leave_sleep(Split& split);
  void set_recording() { recording = marking_ || poll_watch_.watching(); }
  bool same_live(const SpinProbe& probe, const std::vector<Slot>& slots, Mask lanes) const;
  void release_complete_lanes();
  void reserve_registers(uint32_t bytes);
  void reserve_local(uint32_t bytes);
  const std::vector<Slot>& live_at(const Inst& branch) const;

  Block* block_;
  Environment* environment_;
  Listener* listener_;
  const Program* program_;
  uint32_t index_;
  Mask present_;
  Mask exited_ = 0;
  std::vector<Split> splits_;
  uint32_t current_ = 0;
  uint32_t next_id_ = 0;
  const Inst* limit_ = nullptr;  // run() looks up when ip reaches it
  // Windows accessed before that one: kernels go back and forth between a few buffers.
  const mem::Window* other_windows_[3] = {nullptr, nullptr, nullptr};
  uint64_t effects_ = 0;  // counts everything that others could notice, or that changes when repeated
  uint32_t turns_ = 0;    // backward branches of the running split since others last ran
  uint32_t turn_of_ = 0;  // id of the split that ran last against the smallest-pc rule
  bool yielded_ = false;  // run() must return to the scheduler
  bool marking_ = false;  // a probe of the running split is marked
  bool polls_clock_ = false;
  PollWatch poll_watch_;
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> registers_;
  std::vector<std::byte> local_;
  uint32_t local_stride_ = 0;
};

}  // namespace fb::simt
