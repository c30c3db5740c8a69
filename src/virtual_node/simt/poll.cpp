#include "virtual_node/simt/poll.h"

#include <algorithm>
#include <cstring>

#include "common/base/hash.h"

namespace fb::simt {

bool PollWatch::on_branch() {
  if (++branches_ < window_) return false;
  branches_ = 0;
  if (!known_) {
    known_ = std::make_unique<Known>();  // from now on: most warps end before they have gone round so often
  } else if (!watching_) {
    window_ = std::min(window_ * 2, kLongWindow);
  } else {
    polls_ = news_ == 0 && waits_;
    window_ = kShortWindow;
  }
  news_ = 0;
  waits_ = false;
  watching_ = true;
  return polls_;
}

void PollWatch::on_news() {
  polls_ = false;
  reads_.clear();
  watching_ = ++news_ < kPlenty;
}

bool PollWatch::is_known(uint64_t hash) {
  uint64_t& word = known_->bits[hash % kBits / 64];
  const uint64_t bit = uint64_t{1} << hash % 64;
  if ((word & bit) != 0) return true;
  if (++known_->count > kMostBits) *known_ = {.count = 1};
  known_->bits[hash % kBits / 64] |= bit;
  return false;
}

void PollWatch::on_read(uint32_t split, const WatchedRead& read, bool shared) {
  waits_ = true;
  if (!known_) {
    watching_ = false;
    return;
  }
  uint64_t words[4] = {};
  std::memcpy(words, read.seen, std::min<size_t>(read.bytes, sizeof words));
  // By the guest's address: the host's differs from run to run, and with it what collides.
  uint64_t hash = read.guest ^ words[0] * 0x9e3779b97f4a7c15;
  if (read.bytes > 8) hash = mix(hash, {words[1], words[2], words[3]});
  hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9;
  hash ^= hash >> 32;
  if (!is_known(hash)) {
    if (!shared) return on_news();
    stirred_ = true;
  }
  if (!polls_ || reads_.size() == kMostReads) return;
  const auto same = [&](const Read& r) { return r.split == split && r.read.host == read.host; };
  if (std::ranges::none_of(reads_, same)) reads_.push_back({split, read});
}

}  // namespace fb::simt
