// Asynchronous copies: commit groups, mbarriers, the asynchronous proxy.

#include <gtest/gtest.h>

#include "event_rig.h"

namespace fb::race {
namespace {

constexpr How kBulk{.bytes = 16, .proxy = Proxy::async};
constexpr How kPlain{.bytes = 16, .line = kCpAsync};
constexpr How kWide{.bytes = 16};
constexpr uint32_t kBulkGroup = simt::group_word(simt::GroupKind::bulk, 0);
constexpr uint32_t kPlainGroup = simt::group_word(simt::GroupKind::plain, 0);

TEST(AsyncCopies, AreNotCompleteWhenIssued) {
  EventRig rig;
  const Thread t = rig.thread();
  const mem::Address from = rig.memory(), to = rig.memory();
  rig.issue_copy(t, to, from, kPlain);
  rig.load(t, to, kWide);
  EXPECT_EQ(rig.reports().size(), 1u);
}

TEST(AsyncCopies, AreOrderedByWaitingForTheirGroup) {
  EventRig rig;
  const Thread t = rig.thread();
  const mem::Address from = rig.memory(), to = rig.memory();
  rig.issue_copy(t, to, from, kPlain);
  rig.sync(t, simt::SyncKind::async_commit, kPlainGroup);
  rig.sync(t, simt::SyncKind::async_wait, kPlainGroup);
  rig.load(t, to, kWide);
  rig.store(t, from, kWide);
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST(AsyncCopies, AWaitLeavesTheNewestGroupsPending) {
  EventRig rig;
  const Thread t = rig.thread();
  const mem::Address from = rig.memory(), first = rig.memory(), second = rig.memory();
  rig.issue_copy(t, first, from, kPlain);
  rig.sync(t, simt::SyncKind::async_commit, kPlainGroup);
  rig.issue_copy(t, second, from, kPlain);
  rig.sync(t, simt::SyncKind::async_commit, kPlainGroup);
  rig.sync(t, simt::SyncKind::async_wait, simt::group_word(simt::GroupKind::plain, 1));
  rig.load(t, first, kWide);
  EXPECT_TRUE(rig.clean()) << rig.text();
  rig.load(t, second, kWide);
  EXPECT_FALSE(rig.clean());
}

TEST(AsyncCopies, AGroupIsOfOneThread) {
  EventRig rig;
  simt::Block& block = rig.block();
  const Thread issuer{&block, 0}, other{&block, 1};
  const mem::Address from = rig.memory(), to = rig.memory();
  rig.issue_copy(issuer, to, from, kPlain);
  rig.sync(issuer, simt::SyncKind::async_commit, kPlainGroup);
  rig.sync(other, simt::SyncKind::async_commit, kPlainGroup);
  rig.sync(other, simt::SyncKind::async_wait, kPlainGroup);
  rig.load(other, to, kWide);
  EXPECT_FALSE(rig.clean());
}

TEST(AsyncCopies, WaitGroupReadOrdersTheReadsOnly) {
  EventRig rig;
  const Thread t = rig.thread();
  const mem::Address from = rig.memory(), to = rig.memory();
  rig.issue_copy(t, to, from, kBulk);
  rig.sync(t, simt::SyncKind::async_commit, kBulkGroup);
  rig.sync(t, simt::SyncKind::async_wait, kBulkGroup, MemoryOrder::weak, kWaitGroupRead);
  rig.store(t, from, kWide);  // the source may be reused
  EXPECT_TRUE(rig.clean()) << rig.text();
  rig.load(t, to, kWide);  // the target may not be read
  EXPECT_FALSE(rig.clean());
}

TEST(AsyncCopies, AnMbarrierOrdersTheCopyBeforeItsWaiters) {
  for (const bool waits : {true, false}) {
    EventRig rig;
    simt::Block& block = rig.block();
    const Thread issuer{&block, 0}, waiter{&block, 40};
    const mem::Address from = rig.memory();
    const simt::AsyncCopy copy = rig.issue_copy(issuer, rig.shared(128), from, kBulk);
    rig.signal_mbarrier(copy, block, 8);
    if (waits) rig.sync(waiter, simt::SyncKind::mbarrier_wait, mem::kSharedReserved + 8, MemoryOrder::acquire);
    rig.load(waiter, rig.shared(128), kWide);
    EXPECT_EQ(rig.clean(), waits);
  }
}

TEST(AsyncCopies, CpAsyncMbarrierArriveOrdersAllCopiesOfTheThread) {
  for (const bool arrives : {true, false}) {
    EventRig rig;
    simt::Block& block = rig.block();
    const Thread issuer{&block, 3}, waiter{&block, 40};
    const mem::Address from = rig.memory();
    rig.issue_copy(issuer, rig.shared(128), from, kPlain);
    rig.issue_copy(issuer, rig.shared(256), from, kPlain);
    if (arrives) rig.copies_arrive(issuer, block, 8);
    rig.sync(waiter, simt::SyncKind::mbarrier_wait, mem::kSharedReserved + 8, MemoryOrder::acquire);
    rig.load(waiter, rig.shared(128), kWide);
    rig.load(waiter, rig.shared(256), kWide);
    EXPECT_EQ(rig.clean(), arrives) << rig.text();
  }
}

TEST(AsyncCopies, CpAsyncMbarrierArriveDoesNotOrderLaterCopiesOrOtherThreads) {
  for (const bool later : {true, false}) {
    EventRig rig;
    simt::Block& block = rig.block();
    const Thread issuer{&block, 3}, other{&block, 4}, waiter{&block, 40};
    const mem::Address from = rig.memory();
    if (!later) rig.issue_copy(other, rig.shared(256), from, kPlain);
    rig.issue_copy(issuer, rig.shared(128), from, kPlain);
    rig.copies_arrive(issuer, block, 8);
    if (later) rig.issue_copy(issuer, rig.shared(256), from, kPlain);
    rig.sync(waiter, simt::SyncKind::mbarrier_wait, mem::kSharedReserved + 8, MemoryOrder::acquire);
    rig.load(waiter, rig.shared(128), kWide);
    EXPECT_TRUE(rig.clean()) << rig.text();
    rig.load(waiter, rig.shared(256), kWide);
    EXPECT_FALSE(rig.clean());
  }
}

TEST(AsyncCopies, ACopyThroughTheSwitchIsNotCompleteWhenIssued) {
  EventRig rig;
  const Thread t = rig.thread();
  const mem::Address to = rig.memory();
  rig.store(t, to, {.bytes = 16, .proxy = Proxy::multimem, .line = kBulkThroughSwitch});
  rig.load(t, to, kWide);
  EXPECT_FALSE(rig.clean());
}

TEST(AsyncCopies, ReductionsOfOneGpuDoNotRaceWithEachOther) {
  for (const uint32_t other_gpu : {0u, 1u}) {
    EventRig rig;
    const Thread a = rig.thread(0), b = rig.thread(other_gpu);
    const mem::Address to = rig.memory();
    constexpr How kReduce{.bytes = 16, .proxy = Proxy::async};
    rig.atomic(a, to, kReduce);
    rig.atomic(b, to, kReduce);
    EXPECT_EQ(rig.clean(), other_gpu == 0) << rig.text();
    rig.load(b, to, kWide);
    EXPECT_FALSE(rig.clean());
  }
}

TEST(AsyncCopies, AnAsynchronousReleaseIsAFlag) {
  for (const MemoryOrder order : {MemoryOrder::release, MemoryOrder::weak}) {
    EventRig rig;
    const Thread writer = rig.thread(1), reader = rig.thread(0);
    const mem::Address data = rig.memory(), flag = rig.memory();
    rig.store(writer, data);
    rig.store(writer, flag, {.order = order, .scope = Scope::sys, .proxy = Proxy::async});
    rig.load(reader, flag, kAcquireSys);
    rig.load(reader, data);
    EXPECT_EQ(rig.clean(), order == MemoryOrder::release) << rig.text();
  }
}

TEST(AsyncCopies, AProxyFenceOfTheWarpShowsWhatOneLaneHasAcquired) {
  EventRig rig;
  const Thread writer = rig.thread(1);
  simt::Block& block = rig.block(0);
  const mem::Address from = rig.memory(), flag = rig.memory();
  rig.store(writer, from, kWide);
  rig.store(writer, flag, kReleaseSys);
  rig.load({&block, 0}, flag, kAcquireSys);
  rig.sync(*block.warps()[0], simt::kAllLanes, {.kind = simt::SyncKind::fence}, kProxyFence);
  rig.issue_copy({&block, 0}, rig.shared(128), from, kBulk);
  EXPECT_TRUE(rig.clean()) << rig.text();
  rig.issue_copy({&block, 1}, rig.shared(256), from, kBulk);
  EXPECT_FALSE(rig.clean());
}

TEST(AsyncCopies, BeginAfterTheAccessesOfTheirThread) {
  EventRig rig;
  const Thread t = rig.thread();
  const mem::Address from = rig.memory(), to = rig.memory();
  rig.load(t, to, kWide);     // a read before the copy writes
  rig.store(t, from, kWide);  // cp.async goes through the generic proxy
  rig.issue_copy(t, to, from, kPlain);
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST(AsyncCopies, GenericStoresNeedAProxyFenceBeforeABulkCopy) {
  for (const bool fenced : {true, false}) {
    EventRig rig;
    const Thread t = rig.thread();
    const mem::Address from = rig.memory(), to = rig.memory();
    rig.store(t, from, kWide);
    if (fenced) rig.fence(t, Scope::none, MemoryOrder::weak, kProxyFence);
    rig.issue_copy(t, to, from, kBulk);
    EXPECT_EQ(rig.clean(), fenced) << rig.text();
  }
}

TEST(AsyncCopies, AProxyFenceOfTheWriterCountsAfterABarrier) {
  EventRig rig;
  simt::Block& block = rig.block();
  const Thread writer{&block, 33}, issuer{&block, 0};
  const mem::Address to = rig.memory();
  rig.store(writer, rig.shared(0), kWide);
  rig.fence(writer, Scope::none, MemoryOrder::weak, kProxyFence);
  rig.syncthreads(block);
  rig.issue_copy(issuer, to, rig.shared(0), kBulk);
  EXPECT_TRUE(rig.clean()) << rig.text();
}

}  // namespace
}  // namespace fb::race
