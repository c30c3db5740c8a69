// Barriers of warps, blocks and clusters, and mbarriers.

#include <gtest/gtest.h>

#include "event_rig.h"

namespace fb::race {
namespace {

TEST(Barriers, SyncthreadsOrdersAllThreadsOfTheBlock) {
  EventRig rig;
  simt::Block& block = rig.block();
  const mem::Address data = rig.memory();
  rig.store({&block, 0}, data);
  rig.syncthreads(block);
  rig.load({&block, 63}, data);
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST(Barriers, SyncthreadsDoesNotOrderOtherBlocks) {
  EventRig rig;
  simt::Block &a = rig.block(), &b = rig.block();
  const mem::Address data = rig.memory();
  rig.store({&a, 0}, data);
  rig.syncthreads(a);
  rig.syncthreads(b);
  rig.load({&b, 0}, data);
  EXPECT_FALSE(rig.clean());
}

TEST(Barriers, SharedMemoryIsCheckedToo) {
  for (const bool synchronised : {true, false}) {
    EventRig rig;
    simt::Block& block = rig.block();
    rig.store({&block, 0}, rig.shared(16));
    if (synchronised) rig.syncthreads(block);
    rig.load({&block, 40}, rig.shared(16));
    EXPECT_EQ(rig.clean(), synchronised);
  }
}

TEST(Barriers, OneThreadsAcquireIsTheBlocksAfterSyncthreads) {
  EventRig rig;
  const Thread writer = rig.thread(1);
  simt::Block& block = rig.block(0);
  const mem::Address data = rig.memory(), flag = rig.memory();
  rig.store(writer, data);
  rig.store(writer, flag, kReleaseSys);
  rig.load({&block, 0}, flag, kAcquireSys);
  rig.syncthreads(block);
  rig.load({&block, 50}, data);
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST(Barriers, ANamedBarrierOrdersItsWarpsOnly) {
  EventRig rig;
  simt::Block& block = rig.block();
  const mem::Address data = rig.memory();
  simt::Warp& first = *block.warps()[0];
  rig.store({&block, 0}, data);
  rig.sync(first, first.present(), {.kind = simt::SyncKind::block_arrive, .id = 1});
  rig.sync(first, first.present(), {.kind = simt::SyncKind::block_release, .id = 1});
  rig.load({&block, 31}, data);  // of the warp that took part
  EXPECT_TRUE(rig.clean()) << rig.text();
  rig.load({&block, 32}, data);
  EXPECT_FALSE(rig.clean());
}

TEST(Barriers, SyncwarpOrdersTheLanesOfItsMask) {
  EventRig rig;
  simt::Block& block = rig.block();
  const mem::Address data = rig.memory();
  rig.store({&block, 0}, data);
  rig.syncwarp(*block.warps()[0], 0b11);
  rig.load({&block, 1}, data);
  EXPECT_TRUE(rig.clean()) << rig.text();
  rig.load({&block, 2}, data);
  EXPECT_FALSE(rig.clean());
}

TEST(Barriers, SyncwarpIsCompleteWhenAllLanesHaveCome) {
  EventRig rig;
  simt::Block& block = rig.block();
  simt::Warp& warp = *block.warps()[0];
  const mem::Address data = rig.memory();
  rig.store({&block, 0}, data);
  rig.sync(warp, 0b01, {.kind = simt::SyncKind::warp, .id = 0b11});
  rig.sync(warp, 0b10, {.kind = simt::SyncKind::warp, .id = 0b11});
  rig.load({&block, 1}, data);
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST(Barriers, AClusterBarrierReleasesAndAcquires) {
  struct Row {
    MemoryOrder arrive, wait;
    bool ordered;
  };
  for (const auto [arrive, wait, ordered] : {Row{MemoryOrder::release, MemoryOrder::acquire, true},
                                             Row{MemoryOrder::relaxed, MemoryOrder::acquire, false}}) {
    EventRig rig;
    simt::Cluster& cluster = rig.cluster(2);
    simt::Block &a = *cluster.blocks[0], &b = *cluster.blocks[1];
    const mem::Address data = rig.memory();
    rig.store({&a, 0}, data);
    rig.sync_cluster(cluster, arrive, wait);
    rig.load({&b, 33}, data);
    EXPECT_EQ(rig.clean(), ordered) << rig.text();
  }
}

TEST(Barriers, EachPhaseOfAClusterBarrierOrdersWhatCameBeforeIt) {
  EventRig rig;
  simt::Cluster& cluster = rig.cluster(2);
  simt::Block &a = *cluster.blocks[0], &b = *cluster.blocks[1];
  const mem::Address data = rig.memory();
  for (int phase = 0; phase < 4; ++phase) {
    rig.store({&a, 0}, data);
    rig.sync_cluster(cluster);
    rig.load({&b, 0}, data);
    rig.sync_cluster(cluster);
  }
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST(Barriers, SharedMemoryOfAnotherBlockOfTheCluster) {
  for (const bool synchronised : {true, false}) {
    EventRig rig;
    simt::Cluster& cluster = rig.cluster(2);
    simt::Block &a = *cluster.blocks[0], &b = *cluster.blocks[1];
    const mem::Address of_b = rig.shared(64) + (mem::Address{2} << mem::kClusterShift);
    rig.store({&a, 0}, of_b);
    if (synchronised) rig.sync_cluster(cluster);
    rig.load({&b, 0}, rig.shared(64));
    EXPECT_EQ(rig.clean(), synchronised);
  }
}

TEST(Barriers, AnMbarrierOrdersArrivalsBeforeWaits) {
  constexpr uint32_t kMbarrier = mem::kSharedReserved + 8;
  for (const MemoryOrder arrive : {MemoryOrder::release, MemoryOrder::relaxed}) {
    EventRig rig;
    simt::Block& block = rig.block();
    const mem::Address data = rig.memory();
    rig.store({&block, 0}, data);
    rig.sync(Thread{&block, 0}, simt::SyncKind::mbarrier_arrive, kMbarrier, arrive);
    rig.sync(Thread{&block, 32}, simt::SyncKind::mbarrier_wait, kMbarrier, MemoryOrder::acquire);
    rig.load({&block, 32}, data);
    EXPECT_EQ(rig.clean(), arrive == MemoryOrder::release);
  }
}

TEST(Barriers, AnotherMbarrierOrdersNothing) {
  EventRig rig;
  simt::Block& block = rig.block();
  const mem::Address data = rig.memory();
  rig.store({&block, 0}, data);
  rig.sync(Thread{&block, 0}, simt::SyncKind::mbarrier_arrive, mem::kSharedReserved + 8, MemoryOrder::release);
  rig.sync(Thread{&block, 32}, simt::SyncKind::mbarrier_wait, mem::kSharedReserved + 16, MemoryOrder::acquire);
  rig.load({&block, 32}, data);
  EXPECT_FALSE(rig.clean());
}

TEST(Barriers, AClusterBarrierHandsOnWhatOneLaneHasAcquired) {
  for (const MemoryOrder arrive : {MemoryOrder::release, MemoryOrder::relaxed}) {
    EventRig rig;
    const Thread writer = rig.thread(1);
    simt::Cluster& cluster = rig.cluster(2);
    const mem::Address data = rig.memory(), flag = rig.memory();
    rig.store(writer, data);
    rig.store(writer, flag, kReleaseSys);
    rig.load({cluster.blocks[0], 5}, flag, kAcquireSys);
    rig.sync_cluster(cluster, arrive);
    rig.load({cluster.blocks[1], 40}, data);
    EXPECT_EQ(rig.clean(), arrive == MemoryOrder::release) << rig.text();
  }
}

TEST(Barriers, AFenceBeforeARelaxedArrivalReleases) {
  for (const bool fenced : {true, false}) {
    EventRig rig;
    simt::Cluster& cluster = rig.cluster(2);
    const mem::Address data = rig.memory();
    const Thread writer{cluster.blocks[0], 5};
    rig.store(writer, data);
    if (fenced) rig.fence(writer, Scope::cluster);
    rig.sync_cluster(cluster, MemoryOrder::relaxed);
    rig.load({cluster.blocks[1], 0}, data);
    EXPECT_EQ(rig.clean(), fenced) << rig.text();
  }
}

TEST(Barriers, AFenceOfMbarrierInitialisationsReleasesNothingElse) {
  EventRig rig;
  simt::Cluster& cluster = rig.cluster(2);
  const mem::Address data = rig.memory();
  const Thread writer{cluster.blocks[0], 5};
  rig.store(writer, data);
  rig.fence(writer, Scope::cluster, MemoryOrder::release, kFenceMbarrierInit);
  rig.sync_cluster(cluster, MemoryOrder::relaxed);
  rig.load({cluster.blocks[1], 0}, data);
  EXPECT_FALSE(rig.clean());
}

TEST(Barriers, AFenceAfterARelaxedWaitAcquires) {
  for (const bool fenced : {true, false}) {
    EventRig rig;
    simt::Block& block = rig.block();
    const Thread writer{&block, 40}, reader{&block, 0};
    const uint32_t at = mem::kSharedReserved + 8;
    rig.store(writer, rig.shared(128));
    rig.sync(writer, simt::SyncKind::mbarrier_arrive, at, MemoryOrder::release);
    rig.sync(reader, simt::SyncKind::mbarrier_wait, at, MemoryOrder::relaxed);
    if (fenced) rig.fence(reader, Scope::cta, MemoryOrder::acquire);
    rig.load(reader, rig.shared(128));
    EXPECT_EQ(rig.clean(), fenced) << rig.text();
  }
}

// Warp 0 produces with bar.arrive, warp 1 consumes with bar.sync.
class ProducerPasses : public testing::Test {
 protected:
  void produce() {
    rig.sync(*block.warps()[0], simt::kAllLanes, {.kind = simt::SyncKind::block_arrive, .id = 1}, kBarArrive);
  }
  void consume() {
    rig.sync(*block.warps()[1], simt::kAllLanes, {.kind = simt::SyncKind::block_arrive, .id = 1});
    rig.sync(*block.warps()[1], simt::kAllLanes, {.kind = simt::SyncKind::block_release, .id = 1});
  }
  EventRig rig;
  simt::Block& block = rig.block();
  mem::Address data = rig.memory();
};

TEST_F(ProducerPasses, ItsEarlierWritesAreOrdered) {
  rig.store({&block, 0}, data);
  produce();
  consume();
  rig.load({&block, 32}, data);
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST_F(ProducerPasses, ItsWritesBetweenArrivalAndCompletionAreNot) {
  produce();
  rig.store({&block, 0}, data);
  consume();
  rig.load({&block, 32}, data);
  EXPECT_FALSE(rig.clean());
}

TEST_F(ProducerPasses, ItAcquiresNothing) {
  rig.load({&block, 32}, data);
  produce();
  consume();
  rig.store({&block, 0}, data);
  EXPECT_FALSE(rig.clean());
}

TEST(Barriers, AFenceAcquireReleasesNothingAndAFenceReleaseAcquiresNothing) {
  for (const bool right : {true, false}) {
    EventRig rig;
    const Thread writer = rig.thread(0), reader = rig.thread(1);
    const mem::Address data = rig.memory(), flag = rig.memory();
    rig.store(writer, data);
    rig.fence(writer, Scope::sys, right ? MemoryOrder::release : MemoryOrder::acquire);
    rig.store(writer, flag, kRelaxedSys);
    rig.load(reader, flag, kRelaxedSys);
    rig.fence(reader, Scope::sys, MemoryOrder::acquire);
    rig.load(reader, data);
    EXPECT_EQ(rig.clean(), right) << rig.text();
  }
  EventRig rig;
  const Thread writer = rig.thread(0), reader = rig.thread(1);
  const mem::Address data = rig.memory(), flag = rig.memory();
  rig.store(writer, data);
  rig.store(writer, flag, kReleaseSys);
  rig.load(reader, flag, kRelaxedSys);
  rig.fence(reader, Scope::sys, MemoryOrder::release);
  rig.load(reader, data);
  EXPECT_FALSE(rig.clean());
}

}  // namespace
}  // namespace fb::race
