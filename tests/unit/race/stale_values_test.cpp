// Weak delivery: which loads may return older bytes.

#include <gtest/gtest.h>

#include <cstring>

#include "event_rig.h"

namespace fb::race {
namespace {

// Keeps older contents of every line, and returns them whenever that is allowed.
const Options kAlways{.seed = 1, .weak_lines = 1, .weak_chance = 1};

// The word that the thread's load returns: an older one, or what is in memory.
uint32_t loaded(EventRig& rig, Thread t, mem::Address a, const How& how = {}) {
  t.warp().old_bytes = nullptr;
  rig.load(t, a, how);
  const std::byte* const* old = t.warp().old_bytes;
  const std::byte* from = old && old[t.lane()] ? old[t.lane()] : rig.allocation(a).bytes.get();
  uint32_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// The event comes first: the detector keeps the bytes that the store replaces.
void stores(EventRig& rig, Thread t, mem::Address a, uint32_t word, const How& how = {}) {
  rig.store(t, a, how);
  std::memcpy(rig.allocation(a).bytes.get(), &word, sizeof word);
}

TEST(StaleValues, AnUnorderedLoadMayReturnTheOlderValue) {
  EventRig rig(kAlways);
  const mem::Address flag = rig.memory();
  const Thread writer = rig.thread(0), reader = rig.thread(1);
  stores(rig, writer, flag, 7, kRelaxedSys);
  EXPECT_EQ(loaded(rig, reader, flag, kRelaxedSys), 0u);
}

TEST(StaleValues, AThreadSeesItsOwnWrites) {
  EventRig rig(kAlways);
  const mem::Address flag = rig.memory();
  const Thread t = rig.thread(0);
  stores(rig, t, flag, 7, kRelaxedSys);
  EXPECT_EQ(loaded(rig, t, flag, kRelaxedSys), 7u);
}

TEST(StaleValues, AnOrderedWriteIsSeen) {
  EventRig rig(kAlways);
  simt::Block& block = rig.block();
  const mem::Address data = rig.memory();
  stores(rig, {&block, 0}, data, 7);
  rig.syncthreads(block);
  EXPECT_EQ(loaded(rig, {&block, 40}, data), 7u);
}

TEST(StaleValues, OfAFlagOnlyTheValueBeforeTheLast) {
  EventRig rig(kAlways);
  const mem::Address flag = rig.memory();
  const Thread writer = rig.thread(0), reader = rig.thread(1);
  stores(rig, writer, flag, 7, kRelaxedSys);
  stores(rig, writer, flag, 8, kRelaxedSys);
  EXPECT_EQ(loaded(rig, reader, flag, kRelaxedSys), 7u);
}

TEST(StaleValues, AnAtomicReplacesTheNewestValue) {
  EventRig rig(kAlways);
  const mem::Address flag = rig.memory();
  const Thread writer = rig.thread(0), other = rig.thread(1), reader = rig.thread(2);
  stores(rig, writer, flag, 7, kRelaxedSys);
  rig.atomic(other, flag);
  const uint32_t word = 8;
  std::memcpy(rig.allocation(flag).bytes.get(), &word, sizeof word);
  const uint32_t seen = loaded(rig, reader, flag, kRelaxedSys);
  EXPECT_TRUE(seen == 7 || seen == 8) << seen;  // 0 is older than what the atomic has read
}

TEST(StaleValues, AStaleLoadDoesNotAcquireTheNewRelease) {
  EventRig rig(kAlways);
  const mem::Address data = rig.memory(), flag = rig.memory();
  const Thread writer = rig.thread(0), reader = rig.thread(1);
  stores(rig, writer, data, 1);
  stores(rig, writer, flag, 1, kReleaseSys);
  EXPECT_EQ(loaded(rig, reader, flag, kAcquireSys), 0u);
  rig.load(reader, data);
  EXPECT_FALSE(rig.clean());
}

TEST(StaleValues, WithoutWeakDeliveryEveryLoadReturnsTheNewest) {
  EventRig rig;
  const mem::Address flag = rig.memory();
  const Thread writer = rig.thread(0), reader = rig.thread(1);
  stores(rig, writer, flag, 7, kRelaxedSys);
  EXPECT_EQ(loaded(rig, reader, flag, kRelaxedSys), 7u);
}

}  // namespace
}  // namespace fb::race
