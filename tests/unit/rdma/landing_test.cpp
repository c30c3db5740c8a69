// The payload of a write comes into memory part by part, in an order that is drawn.

#include <set>

#include "rdma/world.h"

namespace fb::rdma {
namespace {

constexpr uint32_t kBytes = 8192, kTarget = 16384;

struct Landings : testing::Test {
  World w;
  End a{w, 0}, b{w, 1};
  Landings() { w.put(0, 0, std::string(kBytes, 'x')); }

  bool has(uint64_t offset) { return w.get(1, kTarget + offset, 1) == "x"; }
  int write(Opcode opcode = Opcode::write, uint32_t bytes = kBytes) {
    return a.send(one_sided(1, opcode, {a.piece(0, bytes)}, b, kTarget));
  }
  // What is there while it arrives: '1' for a kibibyte, at some moments. The last one is the end.
  std::vector<std::string> pictures() {
    std::vector<std::string> all;
    for (int k = 0; k < 40; ++k) {
      w.run_for(platform::kMicrosecond / 2);
      std::string now;
      for (uint32_t at = 0; at < kBytes; at += 1024) now += has(at) ? '1' : '0';
      if (all.empty() || all.back() != now) all.push_back(now);
    }
    return all;
  }
};

TEST_F(Landings, WithoutADrawPartsComeInOrder) {
  connect(a, b);
  ASSERT_EQ(write(), 0);
  const auto seen = pictures();
  EXPECT_GT(seen.size(), 4u);
  for (const std::string& picture : seen) EXPECT_EQ(picture.find("01"), std::string::npos) << picture;
  EXPECT_EQ(seen.back(), "11111111");
}

TEST_F(Landings, TheLastByteMayComeBeforeTheFirst) {
  std::set<std::string> all;
  connect(a, b);
  for (w.order = 1; w.order <= 20; ++w.order) {
    w.put(1, kTarget, std::string(kBytes, ' '));
    ASSERT_EQ(write(), 0);
    const auto seen = pictures();
    EXPECT_EQ(seen.back(), "11111111");
    for (const std::string& picture : seen) {
      if (picture.front() == '0' && picture.back() == '1') all.insert(picture);
    }
    EXPECT_EQ(summary(a.poll()), "1:0");
  }
  EXPECT_GT(all.size(), 5u);
}

TEST_F(Landings, OneDrawIsOneOrder) {
  connect(a, b);
  std::map<uint64_t, std::vector<std::string>> seen;
  for (const uint64_t order : {7, 8, 7}) {
    w.order = order;
    w.put(1, kTarget, std::string(kBytes, ' '));
    ASSERT_EQ(write(), 0);
    const auto now = pictures();
    if (seen.contains(order)) {
      EXPECT_EQ(now, seen[order]);
    }
    seen[order] = now;
    a.poll();
  }
  EXPECT_NE(seen[7], seen[8]);
}

TEST_F(Landings, WhatIsThereIsNotWrittenAgain) {
  connect(a, b);
  ASSERT_EQ(write(), 0);
  while (!has(0)) w.run_for(platform::kMicrosecond / 10);
  ASSERT_FALSE(has(kBytes - 1));
  w.put(1, kTarget, "seen");
  w.run();
  EXPECT_EQ(w.get(1, kTarget, 5), "seenx");
  EXPECT_TRUE(has(kBytes - 1));
}

TEST_F(Landings, ARefusedWriteLeavesNothing) {
  for (const bool by_key : {false, true}) {
    World world;
    End from(world, 0), to(world, 1);
    world.put(0, 0, std::string(kBytes, 'x'));
    for (End* const end : {&from, &to}) EXPECT_EQ(end->init(by_key ? kAllRights & ~access::bind : 0), 0);
    EXPECT_EQ(from.to_rtr(*to.pair), 0);
    EXPECT_EQ(to.to_rtr(*from.pair), 0);
    EXPECT_EQ(from.to_rts(), 0);
    SendWork wrong = one_sided(1, Opcode::write, {from.piece(0, kBytes)}, to, kTarget);
    if (by_key) wrong.remote_key ^= 0x100;
    ASSERT_EQ(from.send(wrong), 0);
    world.run();
    EXPECT_EQ(world.get(1, kTarget, kBytes).find('x'), std::string::npos);
    EXPECT_NE(from.poll().at(0).status, Status::success);
  }
}

TEST_F(Landings, AWriteThatNeedsAReceiveWaitsForOne) {
  a.wish.rnr_retry = 7;
  connect(a, b);
  ASSERT_EQ(write(Opcode::write_immediate), 0);
  w.run_for(100 * platform::kMicrosecond);
  EXPECT_EQ(w.get(1, kTarget, kBytes).find('x'), std::string::npos);
  ASSERT_EQ(b.receive(5, {}), 0);
  w.run();
  EXPECT_EQ(w.get(1, kTarget, kBytes), std::string(kBytes, 'x'));
  EXPECT_EQ(summary(b.poll()), "5:0");
}

TEST_F(Landings, AMessageIsBehindTheOneBefore) {
  connect(a, b);
  for (w.order = 1; w.order <= 20; ++w.order) {
    w.put(1, kTarget, std::string(2 * kBytes, ' '));
    ASSERT_EQ(write(), 0);
    ASSERT_EQ(a.send(one_sided(2, Opcode::write, {a.piece(0, 8)}, b, kTarget + kBytes)), 0);
    while (!has(kBytes)) w.run_for(platform::kMicrosecond / 10);
    EXPECT_EQ(w.get(1, kTarget, kBytes), std::string(kBytes, 'x'));
    w.run();
    a.poll();
  }
}

TEST_F(Landings, SmallOnesLandAtOnce) {
  connect(a, b);
  w.order = 3;
  ASSERT_EQ(write(Opcode::write, 256), 0);
  while (!has(0)) w.run_for(platform::kNanosecond);
  EXPECT_TRUE(has(255));
}

}  // namespace
}  // namespace fb::rdma
