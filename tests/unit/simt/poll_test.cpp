// Polling is recognised by values and changes, whatever happens to registers.

#include "virtual_node/simt/poll.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace fb::simt {
namespace {

class Poll : public testing::Test {
 protected:
  void read(size_t index, bool shared = false) {
    if (!watch.watching()) return;  // as a warp: it does not tell
    WatchedRead r;
    r.host = reinterpret_cast<const std::byte*>(&words.at(index));
    r.guest = mem::kGlobalBegin + index * sizeof(uint64_t);
    r.bytes = sizeof(uint64_t);
    std::memcpy(r.seen, r.host, sizeof(uint64_t));
    watch.on_read(0, r, shared);
  }
  void change() {
    if (watch.watching()) watch.on_change();
  }
  // Goes round a loop; true if the warp polls at the end.
  template <class F>
  bool loop(int rounds, F body) {
    for (int k = 0; k < rounds; ++k) {
      body(static_cast<size_t>(k));
      watch.on_branch();
    }
    return watch.polls();
  }

  PollWatch watch;
  std::vector<uint64_t> words = std::vector<uint64_t>(1 << 16);
};

TEST_F(Poll, ALoopThatReadsTheSameValuesPolls) {
  EXPECT_TRUE(loop(64, [&](size_t) { read(3); }));
  EXPECT_EQ(watch.reads().size(), 1u);
}

TEST_F(Poll, AnIndexMayRotate) {
  EXPECT_TRUE(loop(1000, [&](size_t k) { read(k % 100); }));
  EXPECT_GT(watch.reads().size(), 10u);
}

TEST_F(Poll, ANewValueEndsIt) {
  ASSERT_TRUE(loop(64, [&](size_t) { read(3); }));
  words[3] = 1;
  read(3);
  EXPECT_FALSE(watch.polls());
  EXPECT_TRUE(watch.reads().empty());
}

TEST_F(Poll, AChangeEndsIt) {
  ASSERT_TRUE(loop(64, [&](size_t) { read(3); }));
  change();
  EXPECT_FALSE(watch.polls());
}

TEST_F(Poll, ALoopThatChangesMemoryDoesNotPoll) {
  EXPECT_FALSE(loop(1000, [&](size_t) {
    read(3);
    change();
  }));
}

TEST_F(Poll, ALoopThatWalksThroughMemoryDoesNotPoll) {
  for (size_t begin = 0; begin < words.size(); begin += 500) {
    EXPECT_FALSE(loop(500, [&](size_t k) { read((begin + k) % words.size()); })) << begin;
  }
}

TEST_F(Poll, ALoopThatOnlyComputesDoesNotPoll) {
  EXPECT_FALSE(loop(1000, [](size_t) {}));
}

TEST_F(Poll, ABarrierInALoopIsAWait) {
  EXPECT_TRUE(loop(64, [&](size_t) { watch.on_wait(); }));
}

TEST_F(Poll, SharedMemoryMayChangeWithoutProgressOutsideTheBlock) {
  EXPECT_TRUE(loop(200, [&](size_t k) {
    words[5] = k;
    read(5, true);
  }));
  EXPECT_TRUE(watch.take_stir());
  EXPECT_FALSE(watch.take_stir());
}

}  // namespace
}  // namespace fb::simt
