// Network cards: which of their words are flags, and what is acquired by reading them.

#include <gtest/gtest.h>

#include <memory>

#include "event_rig.h"

namespace fb::race {
namespace {

constexpr uint32_t kPair = 50, kOtherPair = 60;  // streams of landing messages

ClockRef up_to(uint32_t stream, uint32_t seq) {
  auto clock = std::make_shared<Clock>();
  clock->add(StreamEpoch{stream, seq});
  return clock;
}

// Message `seq` of a queue pair lands; those before it have landed.
void land(EventRig& rig, uint32_t pair, uint32_t seq, mem::Address at, uint64_t bytes,
          AccessKind kind = AccessKind::store, uint32_t card = 100) {
  OperationInfo info;
  info.name = "RDMA write";
  info.device = card;
  info.stream_epoch = {pair, seq};
  info.card.role = kind == AccessKind::atomic ? CardRole::update : CardRole::land;
  info.card.pair = pair;
  info.card.request = seq;
  info.card.release = seq > 1 ? up_to(pair, seq - 1) : nullptr;
  info.card.releases_itself = bytes <= 8;
  const ClockRef before = info.card.release;
  const uint32_t op = rig.detector().begin_operation(std::move(info), before);
  rig.detector().card_access(op, kind, rig.allocation(at), 0, bytes);
  rig.detector().end_operation(op);
}

constexpr How kAcquire{.order = MemoryOrder::acquire, .scope = Scope::sys};

TEST(Cards, AFlagOfTheSameQueuePairOrders) {
  EventRig rig;
  const mem::Address data = rig.memory(), flag = rig.memory();
  land(rig, kPair, 1, data, 1024);
  land(rig, kPair, 2, flag, 4);
  const Thread t = rig.thread();
  rig.load(t, flag, kAcquire);
  rig.load(t, data);
  rig.store(t, flag);  // the flag itself has been read, too
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST(Cards, AFlagOfAnotherQueuePairDoesNot) {
  EventRig rig;
  const mem::Address data = rig.memory(), flag = rig.memory();
  land(rig, kPair, 1, data, 1024);
  land(rig, kOtherPair, 1, flag, 4);
  const Thread t = rig.thread();
  rig.load(t, flag, kAcquire);
  EXPECT_TRUE(rig.clean()) << rig.text();
  rig.load(t, data);
  ASSERT_EQ(rig.reports().size(), 1u);
  EXPECT_EQ(rig.reports()[0].rule, "flag of another queue pair");
}

TEST(Cards, AWordOfAMessageDoesNotOrderItsRest) {
  EventRig rig;
  const mem::Address earlier = rig.memory(), data = rig.memory();
  land(rig, kPair, 1, earlier, 1024);
  land(rig, kPair, 2, data, 1024);
  const Thread t = rig.thread();
  rig.load(t, data + 512, kAcquire);
  rig.load(t, earlier);
  rig.store(t, data + 512);
  EXPECT_TRUE(rig.clean()) << rig.text();
  rig.load(t, data);
  ASSERT_EQ(rig.reports().size(), 1u);
  EXPECT_EQ(rig.reports()[0].kind, RaceClass::in_band_flag);
}

TEST(Cards, AFlagIsAcquiredByAFenceAndByAnAtomic) {
  EventRig rig;
  const mem::Address data = rig.memory(), flag = rig.memory(), wide = rig.memory();
  land(rig, kPair, 1, data, 1024);
  land(rig, kPair, 2, flag, 4);
  land(rig, kPair, 3, wide, 8);
  const Thread t = rig.thread(), u = rig.thread(), v = rig.thread();
  rig.load(t, flag, {.order = MemoryOrder::relaxed, .scope = Scope::sys});
  rig.fence(t, Scope::sys);
  rig.load(t, data);
  rig.load(u, wide, {.order = MemoryOrder::acquire, .scope = Scope::sys, .bytes = 2});
  rig.load(u, data);
  rig.atomic(v, flag, {.order = MemoryOrder::acq_rel, .scope = Scope::sys});
  rig.load(v, data);
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST(Cards, AFlagNeedsAcquireAndSystemScope) {
  for (const bool narrow : {false, true}) {
    EventRig rig;
    const mem::Address data = rig.memory(), flag = rig.memory();
    land(rig, kPair, 1, data, 1024);
    land(rig, kPair, 2, flag, 4);
    const Thread t = rig.thread();
    rig.load(
        t, flag,
        {.order = narrow ? MemoryOrder::acquire : MemoryOrder::relaxed, .scope = narrow ? Scope::gpu : Scope::sys});
    EXPECT_EQ(rig.clean(), !narrow) << rig.text();
    rig.load(t, data);
    EXPECT_FALSE(rig.clean());
    EXPECT_EQ(rig.reports().back().kind, narrow ? RaceClass::narrow_scope : RaceClass::not_acquired) << rig.text();
  }
}

TEST(Cards, AtomicsAreAtomicAmongThoseOfOneCard) {
  EventRig rig;
  const mem::Address word = rig.memory(), other = rig.memory(), third = rig.memory();
  land(rig, kPair, 1, word, 8, AccessKind::atomic);
  land(rig, kOtherPair, 1, word, 8, AccessKind::atomic);
  rig.load(rig.thread(), word, {.order = MemoryOrder::relaxed, .scope = Scope::sys, .bytes = 8});
  EXPECT_TRUE(rig.clean()) << rig.text();
  land(rig, kPair, 2, other, 8, AccessKind::atomic);
  land(rig, kOtherPair, 2, other, 8, AccessKind::atomic, 101);
  EXPECT_EQ(rig.reports().size(), 1u);
  land(rig, kPair, 3, third, 8, AccessKind::atomic);
  rig.atomic(rig.thread(), third, {.order = MemoryOrder::relaxed, .scope = Scope::sys, .bytes = 8});
  ASSERT_EQ(rig.reports().size(), 2u);
  EXPECT_EQ(rig.reports()[1].kind, RaceClass::not_atomic);
}

// Each load returns the value before the last: what it acquires is what came with that value.
TEST(Cards, AnOlderFlagOrdersWhatCameBeforeIt) {
  for (const bool by_thread : {false, true}) {
    EventRig rig({.seed = 1, .weak_lines = 1, .weak_chance = 1});
    const mem::Address first = rig.memory(), second = rig.memory(), flag = rig.memory();
    const Thread writer = rig.thread(), t = rig.thread();
    if (by_thread) {
      rig.store(writer, first);
      rig.store(writer, flag, {.order = MemoryOrder::release, .scope = Scope::sys});
    } else {
      land(rig, kPair, 1, first, 1024);
      land(rig, kPair, 2, flag, 4);
    }
    land(rig, kOtherPair, 3, second, 1024);
    land(rig, kOtherPair, 4, flag, 4);
    const size_t so_far = rig.reports().size();  // two writers of a flag
    rig.load(t, flag, kAcquire);
    rig.load(t, first);
    EXPECT_EQ(rig.reports().size(), so_far) << rig.text();
    rig.load(t, second);
    EXPECT_EQ(rig.reports().size(), so_far + 1) << rig.text();
  }
}

// A message of many pages is one agent, and its pages are kept as a whole.
TEST(Cards, LargeMessagesAreCheckedByPages) {
  constexpr uint64_t kBytes = 1 << 20;
  EventRig rig;
  const mem::Address data = rig.memory(0, kBytes);
  land(rig, kPair, 1, data, kBytes);
  land(rig, kPair, 2, data, kBytes);
  EXPECT_TRUE(rig.clean()) << rig.text();
  rig.load(rig.thread(), data + kBytes / 2);
  EXPECT_FALSE(rig.clean());
}

}  // namespace
}  // namespace fb::race
