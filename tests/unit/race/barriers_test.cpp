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

}  // namespace
}  // namespace fb::race
