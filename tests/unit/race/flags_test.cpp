// Releases and acquires through flags: scopes, fences, release sequences.

#include <gtest/gtest.h>

#include "event_rig.h"

namespace fb::race {
namespace {

// Where the reader is, seen from the writer.
enum class Where { same_block, same_cluster, same_device, other_device };

struct Pair {
  Thread writer, reader;
};

Pair place(EventRig& rig, Where where) {
  if (where == Where::same_cluster) {
    const simt::Cluster& cluster = rig.cluster(2);
    return {{cluster.blocks[0], 0}, {cluster.blocks[1], 0}};
  }
  simt::Block& a = rig.block(0);
  if (where == Where::same_block) return {{&a, 0}, {&a, 32}};
  simt::Block& b = rig.block(where == Where::other_device ? 1 : 0);
  return {{&a, 0}, {&b, 0}};
}

// Data, then a flag with these scopes; the reader reads both. True: no race.
bool message_passes(Where where, How write, How read) {
  EventRig rig;
  const auto [writer, reader] = place(rig, where);
  const mem::Address data = rig.memory(), flag = rig.memory();
  rig.store(writer, data);
  rig.store(writer, flag, write);
  rig.load(reader, flag, read);
  rig.load(reader, data);
  return rig.clean();
}

constexpr How release(Scope scope) { return {.order = MemoryOrder::release, .scope = scope}; }
constexpr How acquire(Scope scope) { return {.order = MemoryOrder::acquire, .scope = scope}; }

TEST(Flags, EachScopeReachesItsThreadsAndNoOthers) {
  struct Row {
    Scope scope;
    Where farthest;
  };
  for (const auto [scope, farthest] : {Row{Scope::cta, Where::same_block}, Row{Scope::cluster, Where::same_cluster},
                                       Row{Scope::gpu, Where::same_device}, Row{Scope::sys, Where::other_device}}) {
    for (const Where where : {Where::same_block, Where::same_cluster, Where::same_device, Where::other_device}) {
      const bool reached = where <= farthest;
      EXPECT_EQ(message_passes(where, release(scope), acquire(scope)), reached);
      // Both sides need the scope.
      EXPECT_EQ(message_passes(where, release(scope), acquire(Scope::sys)), reached);
      EXPECT_EQ(message_passes(where, release(Scope::sys), acquire(scope)), reached);
    }
  }
}

TEST(Flags, RelaxedAndWeakAccessesDoNotOrderOtherMemory) {
  EXPECT_FALSE(message_passes(Where::same_device, kRelaxedSys, acquire(Scope::sys)));
  EXPECT_FALSE(message_passes(Where::same_device, release(Scope::sys), kRelaxedSys));
  EXPECT_FALSE(message_passes(Where::same_device, {}, acquire(Scope::sys)));
}

TEST(Flags, StrongAccessesDoNotRaceWithEachOther) {
  EventRig rig;
  const auto [writer, reader] = place(rig, Where::other_device);
  const mem::Address flag = rig.memory();
  rig.store(writer, flag, kRelaxedSys);
  rig.load(reader, flag, kRelaxedSys);
  rig.store(reader, flag, kRelaxedSys);
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST(Flags, AValueThatWasReadByAStrongLoadIsOrderedForWeakLoads) {
  EventRig rig;
  const auto [writer, reader] = place(rig, Where::other_device);
  const mem::Address flag = rig.memory();
  rig.store(writer, flag, kRelaxedSys);
  rig.load(reader, flag, kRelaxedSys);
  rig.load(reader, flag);  // the same word, weak
  EXPECT_TRUE(rig.clean()) << rig.text();
  rig.store(writer, flag, kRelaxedSys);
  rig.load(reader, flag);  // this write has not been read
  EXPECT_FALSE(rig.clean());
}

TEST(Flags, AnAcquireOrdersWhatTheWriterHadAcquired) {
  EventRig rig;
  const Thread a = rig.thread(0), b = rig.thread(1), c = rig.thread(2);
  const mem::Address data = rig.memory(), first = rig.memory(), second = rig.memory();
  rig.store(a, data);
  rig.store(a, first, kReleaseSys);
  rig.load(b, first, kAcquireSys);
  rig.store(b, second, kReleaseSys);
  rig.load(c, second, kAcquireSys);
  rig.load(c, data);
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST(Flags, AReleaseDoesNotOrderLaterAccesses) {
  EventRig rig;
  const auto [writer, reader] = place(rig, Where::other_device);
  const mem::Address data = rig.memory(), flag = rig.memory();
  rig.store(writer, flag, kReleaseSys);
  rig.store(writer, data);
  rig.load(reader, flag, kAcquireSys);
  rig.load(reader, data);
  EXPECT_FALSE(rig.clean());
}

TEST(Flags, AReleaseIsOfOneThreadNotOfItsWarp) {
  EventRig rig;
  simt::Block& block = rig.block(0);
  const Thread lane0{&block, 0}, lane1{&block, 1}, reader = rig.thread(1);
  const mem::Address data = rig.memory(), flag = rig.memory();
  rig.store(lane1, data);
  rig.store(lane0, flag, kReleaseSys);
  rig.load(reader, flag, kAcquireSys);
  rig.load(reader, data);
  EXPECT_FALSE(rig.clean());
}

TEST(Flags, AWeakStoreOverAFlagEndsItsRelease) {
  EventRig rig;
  const auto [writer, reader] = place(rig, Where::same_device);
  const mem::Address data = rig.memory(), flag = rig.memory();
  rig.store(writer, data);
  rig.store(writer, flag, kReleaseSys);
  rig.store(writer, flag);
  rig.load(reader, flag, kAcquireSys);  // races with the weak store
  const size_t before = rig.reports().size();
  rig.load(reader, data);
  EXPECT_EQ(rig.reports().size(), before + 1);
}

TEST(Flags, AccessesOfDifferentSizesDoNotSynchronise) {
  EventRig rig;
  const auto [writer, reader] = place(rig, Where::same_device);
  const mem::Address data = rig.memory(), flag = rig.memory();
  rig.store(writer, data);
  rig.store(writer, flag, {.order = MemoryOrder::release, .scope = Scope::sys, .bytes = 4});
  rig.load(reader, flag, {.order = MemoryOrder::acquire, .scope = Scope::sys, .bytes = 8});
  rig.load(reader, data);
  EXPECT_EQ(rig.reports().size(), 2u) << rig.text();
}

// Fences

struct FenceCase {
  bool writer_fence = true, reader_fence = true;
  Scope writer_scope = Scope::sys, reader_scope = Scope::sys;
  How flag = kRelaxedSys;
};

bool fenced_message_passes(Where where, const FenceCase& c) {
  EventRig rig;
  const auto [writer, reader] = place(rig, where);
  const mem::Address data = rig.memory(), flag = rig.memory();
  rig.store(writer, data);
  if (c.writer_fence) rig.fence(writer, c.writer_scope);
  rig.store(writer, flag, c.flag);
  rig.load(reader, flag, c.flag);
  if (c.reader_fence) rig.fence(reader, c.reader_scope);
  rig.load(reader, data);
  return rig.clean();
}

TEST(Fences, MakeReleasesAndAcquiresOfRelaxedAccesses) {
  EXPECT_TRUE(fenced_message_passes(Where::other_device, {}));
  EXPECT_FALSE(fenced_message_passes(Where::other_device, {.writer_fence = false}));
  EXPECT_FALSE(fenced_message_passes(Where::other_device, {.reader_fence = false}));
}

TEST(Fences, HaveAScopeOfTheirOwn) {
  EXPECT_FALSE(fenced_message_passes(Where::other_device, {.writer_scope = Scope::gpu}));
  EXPECT_FALSE(fenced_message_passes(Where::other_device, {.reader_scope = Scope::gpu}));
  EXPECT_TRUE(fenced_message_passes(Where::same_device, {.writer_scope = Scope::gpu, .reader_scope = Scope::gpu}));
  EXPECT_FALSE(fenced_message_passes(Where::same_device, {.writer_scope = Scope::cta}));
}

TEST(Fences, NeedAStrongFlag) { EXPECT_FALSE(fenced_message_passes(Where::same_device, {.flag = {}})); }

TEST(Fences, AFenceBeforeTheReadDoesNotAcquire) {
  EventRig rig;
  const auto [writer, reader] = place(rig, Where::same_device);
  const mem::Address data = rig.memory(), flag = rig.memory();
  rig.store(writer, data);
  rig.store(writer, flag, kReleaseSys);
  rig.fence(reader, Scope::sys);
  rig.load(reader, flag, kRelaxedSys);
  rig.load(reader, data);
  EXPECT_FALSE(rig.clean());
}

TEST(Fences, OfOrderScAreInOneOrder) {
  // Store buffering: each stores, fences and loads the other's word. The later of two fences sees the earlier store.
  for (const MemoryOrder order : {MemoryOrder::sc, MemoryOrder::acq_rel}) {
    EventRig rig;
    const auto [a, b] = place(rig, Where::other_device);
    const mem::Address x = rig.memory();
    rig.store(a, x);
    rig.fence(a, Scope::sys, order);
    rig.fence(b, Scope::sys, order);
    rig.load(b, x);
    EXPECT_EQ(rig.clean(), order == MemoryOrder::sc);
  }
}

TEST(Fences, OfOrderScAreOrderedWithinTheirScope) {
  EventRig rig;
  const auto [a, b] = place(rig, Where::other_device);
  const mem::Address x = rig.memory();
  rig.store(a, x);
  rig.fence(a, Scope::gpu, MemoryOrder::sc);
  rig.fence(b, Scope::gpu, MemoryOrder::sc);
  rig.load(b, x);
  EXPECT_FALSE(rig.clean());
}

// Release sequences

TEST(ReleaseSequence, IsContinuedByAtomics) {
  EventRig rig;
  const Thread a = rig.thread(0), b = rig.thread(1), c = rig.thread(2);
  const mem::Address data = rig.memory(), counter = rig.memory();
  rig.store(a, data);
  rig.atomic(a, counter, {.order = MemoryOrder::release, .scope = Scope::sys});
  rig.atomic(b, counter);  // relaxed: releases nothing itself, and carries the release of `a`
  rig.load(c, counter, kAcquireSys);
  rig.load(c, data);
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST(ReleaseSequence, IsEndedByAStoreOfAnotherThread) {
  EventRig rig;
  const Thread a = rig.thread(0), b = rig.thread(1), c = rig.thread(2);
  const mem::Address data = rig.memory(), counter = rig.memory();
  rig.store(a, data);
  rig.store(a, counter, kReleaseSys);
  rig.store(b, counter, kRelaxedSys);
  rig.load(c, counter, kAcquireSys);
  rig.load(c, data);
  EXPECT_FALSE(rig.clean());
}

TEST(ReleaseSequence, IsContinuedByRelaxedStoresOfItsThread) {
  EventRig rig;
  const Thread a = rig.thread(0), c = rig.thread(2);
  const mem::Address data = rig.memory(), counter = rig.memory();
  rig.store(a, data);
  rig.store(a, counter, kReleaseSys);
  rig.store(a, counter, kRelaxedSys);
  rig.load(c, counter, kAcquireSys);
  rig.load(c, data);
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST(ReleaseSequence, CarriesTheReleasesOfManyThreads) {
  EventRig rig;
  constexpr uint32_t kThreads = 48;  // more than a flag keeps apart
  const mem::Address data = rig.memory(0, kThreads * 128), counter = rig.memory();
  for (uint32_t k = 0; k < kThreads; ++k) {
    const Thread t = rig.thread(k % 4);
    rig.store(t, data + k * 128);
    rig.atomic(t, counter, {.order = MemoryOrder::release, .scope = Scope::sys, .line = 300});
  }
  const Thread reader = rig.thread(5);
  rig.load(reader, counter, kAcquireSys);
  for (uint32_t k = 0; k < kThreads; ++k) rig.load(reader, data + k * 128);
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST(ReleaseSequence, AReductionDoesNotAcquire) {
  for (const bool red : {false, true}) {
    EventRig rig;
    const Thread a = rig.thread(0), b = rig.thread(1);
    const mem::Address data = rig.memory(), counter = rig.memory();
    rig.store(a, data);
    rig.store(a, counter, kReleaseSys);
    rig.atomic(b, counter, {.order = MemoryOrder::acq_rel, .scope = Scope::sys, .line = red ? uint32_t{kRed} : 0});
    rig.load(b, data);
    EXPECT_EQ(rig.clean(), !red);
  }
}

}  // namespace
}  // namespace fb::race
