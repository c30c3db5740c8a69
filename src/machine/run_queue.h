#pragma once

// Which warp runs next, and for how long. Everything that is drawn from the seed is drawn here.

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/rng.h"
#include "machine/strategy.h"
#include "machine/sync_steps.h"
#include "simt/block.h"
#include "simt/warp.h"

namespace fb::machine {

enum class Order : uint8_t {
  first_come,  // long turns, nothing chosen: the plain and fastest one
  random,      // drawn from the seed, by one of the strategies
  by_time,     // whoever is earliest in virtual time
  chosen,      // as a list of choices says
};

class RunQueue {
 public:
  explicit RunQueue(Order order, uint64_t seed = 0);

  void push(simt::Warp& warp);
  bool empty() const { return ready_.empty() && slow_.empty() && heap_.empty(); }
  // Nobody can run, or only those who are held back: new blocks, events and copies come first.
  bool idle() const { return empty() || (is_held_back() && ready_.empty()); }
  simt::Warp& pop();
  // by_time: when the next one is due.
  uint64_t next_time() const { return heap_.front().when; }
  // Takes out all warps of a grid.
  void remove(const simt::Grid& grid);
  void clear();

  // Instructions until the next choice. At random most turns are short and some are long: 1 to 2^k, k drawn first.
  uint64_t quantum();
  // One of `options` ways to go on; 0 unless at random.
  uint64_t choose(uint64_t options) { return order_ == Order::random ? rng_.below(options) : 0; }
  Order order() const { return order_; }

  // --- Strategies
  Strategy strategy() const { return strategy_; }
  // Work has come for a device, while others work or none does.
  void use(uint32_t device, bool nobody_works);
  // kNoDevice: none is.
  uint32_t slow_device() const;
  // Whether one more block is started now, an event happens, a copy is performed, although warps can run.
  bool starts_block();
  bool takes_event();
  bool takes_copy();
  // What belongs to the slow device happens now, although others can go on.
  bool takes_slow() { return rng_.below(kSlowLink) == 0; }
  // An event has happened, or a copy was performed.
  void note_other();
  // The warp has had its turn. To be called before push().
  void note_turn(simt::Warp& warp, uint64_t executed, simt::Stop stop);

  // --- As chosen
  // Those who can run: of devices, grids and blocks in order.
  const std::vector<simt::Warp*>& in_order();
  void take(simt::Warp& warp);

  SyncSteps steps;

 private:
  static constexpr uint64_t kLongTurn = 16384;
  static constexpr uint64_t kTimedTurn = 256;
  static constexpr uint64_t kLargestPower = 9;
  static constexpr uint64_t kStraggler = 16;         // draws for one turn of the straggler
  static constexpr uint64_t kSlowLink = 64;          // steps for one of the slow link, while others go on
  static constexpr uint64_t kLikeInstructions = 16;  // an event or a copy, for a device that waits to begin
  static constexpr uint32_t kMostTurnsAwake = 64;    // until a warp that does not sleep falls to the lowest priority
  static constexpr uint64_t kFallen = uint64_t{1} << 63;

  struct Due {
    uint64_t when = 0;    // or the place among priorities
    uint64_t number = 0;  // first come, first served among those due at the same time
    simt::Warp* warp = nullptr;
    friend bool operator<(const Due& a, const Due& b) {
      return a.when != b.when ? a.when > b.when : a.number > b.number;
    }
  };

  // Of a warp that has a priority.
  struct Mark {
    uint64_t place = 0;  // the lowest runs first
    uint32_t turns_awake = 0;
  };

  bool has(Strategy strategy) const { return order_ == Order::random && strategy_ == strategy; }
  bool uses_heap() const { return order_ == Order::by_time || has(Strategy::priorities); }
  bool splits_slow() const { return has(Strategy::late_device) || has(Strategy::straggler); }
  bool is_held_back() const { return late_ && done_by_others_ < late_until_; }
  simt::Warp& pop_first();
  simt::Warp& pop_drawn();
  static simt::Warp& take_out(std::deque<simt::Warp*>& from, size_t k);
  bool comes_before_warps(uint64_t place) const { return !heap_.empty() && place < heap_.front().when; }
  void begin_episode();
  void draw_change_points();
  void next_change_point();
  Mark& mark_of(const simt::Warp& warp);
  uint64_t draw_place() { return 1 + rng_.below(kFallen - 1); }
  uint64_t short_turn() { return 1 + rng_.below(uint64_t{1} << rng_.below(kLargestPower + 1)); }

  Order order_;
  Strategy strategy_;
  Rng rng_;
  SlowParty party_;
  uint64_t next_number_ = 0;
  std::deque<simt::Warp*> ready_;
  std::deque<simt::Warp*> slow_;  // late_device, straggler: of the slow party
  std::vector<Due> heap_;         // by_time, priorities
  std::vector<simt::Warp*> in_order_;

  // priorities
  std::unordered_map<const simt::Warp*, Mark> marks_;
  uint64_t fallen_ = kFallen;
  uint64_t event_place_ = 0, copy_place_ = 0;
  std::vector<uint64_t> change_points_;  // steps, the next one last
  uint64_t episode_begin_ = 0;           // steps
  uint64_t last_episode_ = 0;            // steps that it had

  // late_device
  bool late_ = false;
  uint64_t late_until_ = 0, done_by_others_ = 0;
};

}  // namespace fb::machine
