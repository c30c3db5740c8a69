// Order of streams, hosts, and values that streams write and wait for.

#include <gtest/gtest.h>

#include "event_rig.h"

namespace fb::race {
namespace {

TEST(Streams, AnOperationIsOrderedAfterItsPredecessors) {
  EventRig rig;
  const mem::Address data = rig.memory();
  const uint32_t first = rig.kernel(0, nullptr, {1, 1});
  rig.store({&rig.block(0, first), 0}, data);
  const ClockRef outgoing = rig.end(first);
  const uint32_t second = rig.kernel(0, outgoing, {1, 2});
  rig.load({&rig.block(0, second), 0}, data);
  EXPECT_TRUE(rig.clean()) << rig.text();
  const uint32_t other = rig.kernel(0, nullptr, {2, 1});
  rig.load({&rig.block(0, other), 0}, data);
  EXPECT_FALSE(rig.clean());
}

TEST(Streams, AnEndedKernelIsOneEntryOfAClock) {
  EventRig rig;
  const mem::Address data = rig.memory(), flag = rig.memory();
  const uint32_t kernel = rig.kernel(0, nullptr, {1, 1});
  for (int k = 0; k < 8; ++k) {
    const Thread t{&rig.block(0, kernel), 0};
    rig.store(t, data + static_cast<mem::Address>(k) * 4);
    rig.atomic(t, flag, {.order = MemoryOrder::acq_rel, .scope = Scope::gpu});
  }
  EXPECT_EQ(rig.end(kernel)->size(), 1u);
}

TEST(Streams, CopiesAreChecked) {
  EventRig rig;
  const mem::Address data = rig.memory();
  const uint32_t kernel = rig.kernel(0, nullptr, {1, 1});
  rig.store({&rig.block(0, kernel), 0}, data + 256);
  const uint32_t early = rig.copy(0, nullptr, {2, 1});
  rig.detector().access(early, AccessKind::load, rig.allocation(data), 0, 256);
  EXPECT_TRUE(rig.clean()) << rig.text();  // other bytes
  rig.detector().access(early, AccessKind::load, rig.allocation(data), 0, 512);
  EXPECT_FALSE(rig.clean());
}

// Races are looked for in a part of the memory only: one over many pieces is found.
TEST(Streams, ALargeRaceIsFoundInAPartOfTheMemory) {
  constexpr uint64_t kBytes = 256 << 10;
  EventRig rig({.weak_lines = 0, .one_piece_in = 16});
  const mem::Address data = rig.memory(0, kBytes);
  rig.detector().access(rig.copy(0, nullptr, {1, 1}), AccessKind::store, rig.allocation(data), 0, kBytes);
  EXPECT_TRUE(rig.clean()) << rig.text();
  const uint32_t kernel = rig.kernel(0, nullptr, {2, 1});
  for (uint64_t at = 0; at < kBytes && rig.clean(); at += 1024) rig.store({&rig.block(0, kernel), 0}, data + at);
  EXPECT_FALSE(rig.clean());
}

// Behind a number of comparisons the rest is looked at in part: what is ordered stays clean, and a large race is found.
TEST(Streams, ManyAccessesAreThinnedOut) {
  constexpr uint64_t kBytes = 256 << 10;
  EventRig rig({.weak_lines = 0, .most_work = 100});
  const mem::Address data = rig.memory(0, kBytes);
  const uint32_t first = rig.kernel(0, nullptr, {1, 1});
  simt::Block& writer = rig.block(0, first);
  for (uint64_t at = 0; at < kBytes; at += 1024) rig.store({&writer, 0}, data + at, {.line = kFirstFreeLine});
  EXPECT_TRUE(rig.detector().is_thinned_out());
  const uint32_t next = rig.kernel(0, rig.end(first), {1, 2});
  simt::Block& reader = rig.block(0, next);
  for (uint64_t at = 0; at < kBytes; at += 1024) rig.load({&reader, 0}, data + at, {.line = kFirstFreeLine + 1});
  EXPECT_TRUE(rig.clean()) << rig.text();
  const uint32_t other = rig.kernel(0, nullptr, {2, 1});
  simt::Block& racer = rig.block(0, other);
  for (uint64_t at = 0; at < kBytes && rig.clean(); at += 1024)
    rig.store({&racer, 0}, data + at, {.line = kFirstFreeLine + 2});
  EXPECT_FALSE(rig.clean());
}

// More unordered reads of a word than are kept: a store that races with all of them still does with those.
TEST(Streams, AStoreRacesWithOneOfVeryManyReads) {
  EventRig rig;
  const mem::Address data = rig.memory();
  for (uint32_t k = 1; k <= 300; ++k) rig.load({&rig.block(0, rig.kernel(0, nullptr, {k, 1})), 0}, data);
  EXPECT_TRUE(rig.clean()) << rig.text();
  rig.store({&rig.block(0, rig.kernel(0, nullptr, {301, 1})), 0}, data);
  EXPECT_FALSE(rig.clean());
}

TEST(LookedAt, PartsOfARangeAreThoseOfItsBytes) {
  const LookedAt some({.seed = 3, .one_piece_in = 16});
  uint64_t looked_at = 0;
  some.each_part(100, 1 << 20, [&](uint64_t offset, uint64_t bytes) {
    EXPECT_TRUE(some.at(offset) && some.at(offset + bytes - 1));
    looked_at += bytes;
  });
  EXPECT_GT(looked_at, (1u << 20) / 32);
  EXPECT_LT(looked_at, (1u << 20) / 8);
  uint64_t all = 0;
  LookedAt({}).each_part(100, 1 << 20, [&](uint64_t, uint64_t bytes) { all += bytes; });
  EXPECT_EQ(all, 1u << 20);
}

TEST(LookedAt, SharedMemoryIsThatOfDrawnBlocksAndOfTheFirst) {
  const LookedAt some({.seed = 3, .one_piece_in = 16});
  int blocks = 0;
  for (uint64_t grid = 1; grid <= 16; ++grid) {
    EXPECT_TRUE(some.at_block(grid, 0));
    for (uint64_t index = 1; index < 256; ++index) blocks += some.at_block(grid, index) ? 1 : 0;
  }
  EXPECT_GT(blocks, 16 * 256 / 32);
  EXPECT_LT(blocks, 16 * 256 / 8);
  EXPECT_TRUE(LookedAt({}).at_block(1, 7));
}

TEST(Streams, ACopyAfterTheKernelIsOrdered) {
  EventRig rig;
  const mem::Address data = rig.memory();
  const uint32_t kernel = rig.kernel(0, nullptr, {1, 1});
  rig.store({&rig.block(0, kernel), 0}, data);
  const uint32_t copy = rig.copy(0, rig.end(kernel), {1, 2});
  rig.detector().access(copy, AccessKind::load, rig.allocation(data), 0, 512);
  rig.detector().access(copy, AccessKind::store, rig.allocation(data), 0, 512);
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST(Streams, AHostThatWaitedOrdersItsNextOperations) {
  EventRig rig;
  const mem::Address data = rig.memory();
  const uint32_t kernel = rig.kernel(0, nullptr, {1, 1});
  rig.store({&rig.block(0, kernel), 0}, data);
  rig.detector().host_acquires(0, rig.end(kernel));
  EXPECT_EQ(rig.detector().host_clock(1), nullptr);
  const uint32_t next = rig.kernel(0, rig.detector().host_clock(0), {2, 1});
  rig.load({&rig.block(0, next), 0}, data);
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST(Streams, AValueThatAStreamWritesIsARelease) {
  EventRig rig;
  const mem::Address data = rig.memory(), flag = rig.memory();
  const uint32_t kernel = rig.kernel(0, nullptr, {1, 1});
  rig.store({&rig.block(0, kernel), 0}, data);
  const uint32_t write = rig.copy(0, rig.end(kernel), {1, 2});
  rig.detector().write_value(write, rig.allocation(flag), 0, 4);
  const Thread reader = rig.thread(1);
  rig.load(reader, flag, kAcquireSys);
  rig.load(reader, data);
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST(Streams, AValueThatAStreamWaitsForIsAcquired) {
  for (const Scope scope : {Scope::sys, Scope::gpu}) {
    EventRig rig;
    const mem::Address data = rig.memory(), flag = rig.memory();
    const Thread writer = rig.thread(1);
    rig.store(writer, data);
    rig.store(writer, flag, {.order = MemoryOrder::release, .scope = scope});
    const uint32_t wait = rig.copy(0, nullptr, {1, 1});
    rig.detector().wait_value(wait, rig.allocation(flag), 0, 4);
    const uint32_t next = rig.kernel(0, rig.end(wait), {1, 2});
    const size_t before = rig.reports().size();
    rig.load({&rig.block(0, next), 0}, data);
    EXPECT_EQ(rig.reports().size() == before, scope == Scope::sys) << rig.text();
  }
}

TEST(Streams, TheHistoryOfAByteNamesItsAccesses) {
  EventRig rig({.weak_lines = 0, .why = "m1+0x4"});
  const Thread t = rig.thread();
  const mem::Address data = rig.memory();
  rig.store(t, data, {.line = 20});
  rig.store(t, data + 4, {.line = 21});
  rig.load(t, data + 4, {.line = 22});
  ASSERT_EQ(rig.detector().history().size(), 2u);
  EXPECT_NE(rig.detector().history()[0].find("writes it: test.cu:21"), std::string::npos);
  EXPECT_NE(rig.detector().history()[1].find("reads it: test.cu:22"), std::string::npos);
}

}  // namespace
}  // namespace fb::race
