#pragma once

// Polling, seen from what a warp does: for a while it has changed no byte that threads of other blocks can see, and
// every load has returned a value that it had returned before. Registers do not matter, so that loops with spin
// counters, votes, rotating indices or sleeps are polls like any other. A warp that polls is still run, because a
// counter may end its loop; the scheduler prefers warps that do something.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "virtual_node/simt/watched_read.h"

namespace fb::simt {

class PollWatch {
 public:
  struct Read {
    uint32_t split = 0;
    WatchedRead read;
  };

  // A loop of the warp goes round. True: the warp polls.
  bool on_branch();
  // Whether reads() and changes must be told. Not after a window has shown plenty of news: then the rest is not asked.
  bool watching() const { return watching_; }
  bool polls() const { return polls_; }

  void on_change() { on_news(); }
  // Of memory that threads of other blocks see, or of shared memory.
  void on_read(uint32_t split, const WatchedRead& read, bool shared);
  // The warp has waited for others of its block, or read the clock: a loop that does only this polls as well.
  void on_wait() { waits_ = true; }
  // Since the last call, shared memory has shown a value for the first time: its block may be computing.
  bool take_stir() { return std::exchange(stirred_, false); }

  // What the loops read, while the warp polls.
  const std::vector<Read>& reads() const { return reads_; }
  void forget_reads() { reads_.clear(); }

 private:
  // Backward branches after which the window is judged: long ones where the last have shown plenty of news.
  static constexpr uint32_t kShortWindow = 16, kLongWindow = 64;
  static constexpr uint32_t kPlenty = 64;
  static constexpr uint32_t kBits = 4096, kMostBits = kBits / 3;
  static constexpr size_t kMostReads = 64;

  void on_news();
  bool is_known(uint64_t hash);

  bool watching_ = true, polls_ = false, waits_ = false, stirred_ = false;
  uint32_t branches_ = 0, window_ = kShortWindow, news_ = 0;
  // Hashes of addresses and the values seen there. Cleared when it fills up: a loop that walks through memory sees
  // news all the time.
  struct Known {
    uint32_t count = 0;
    std::array<uint64_t, kBits / 64> bits{};
  };
  std::unique_ptr<Known> known_;
  std::vector<Read> reads_;
};

}  // namespace fb::simt
