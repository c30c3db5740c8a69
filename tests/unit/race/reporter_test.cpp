// What is reported, how often, and which threads reports name.

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "event_rig.h"

namespace fb::race {
namespace {

constexpr How kVolatile{.order = MemoryOrder::volatile_, .scope = Scope::sys};

std::vector<mem::Address> all_at(mem::Address a) { return std::vector<mem::Address>(simt::kLanes, a); }

// The same value in all lanes.
struct Value {
  explicit Value(uint32_t value) { lanes.fill(value); }
  std::array<uint32_t, simt::kLanes> lanes;
  const void* row = lanes.data();
  How how(How of = {}) const {
    of.values = &row;
    return of;
  }
};

TEST(Reporter, APairOfLinesIsReportedOnceAndThenCounted) {
  EventRig rig;
  const mem::Address a = rig.memory();
  for (uint32_t k = 0; k < 100; ++k) {
    rig.store(rig.thread(), a + 8 * k, {.line = 20});
    rig.load(rig.thread(), a + 8 * k, {.line = 40});
  }
  ASSERT_EQ(rig.reports().size(), 1u) << rig.text();
  EXPECT_EQ(rig.detector().further_races(), std::vector<uint64_t>{99});
  // The other direction is the same pair.
  rig.load(rig.thread(), a + 2048, {.line = 40});
  rig.store(rig.thread(), a + 2048, {.line = 20});
  EXPECT_EQ(rig.reports().size(), 1u) << rig.text();
}

TEST(Reporter, LanesThatReadTogetherAreNamedApartFromTheLaneThatWrites) {
  for (const uint32_t writer : {0u, 31u}) {
    EventRig rig;
    simt::Block& block = rig.block();
    const mem::Address a = rig.memory();
    rig.access(*block.warps()[0], AccessKind::load, simt::kAllLanes, all_at(a), {.line = 20});
    rig.store({&block, writer}, a, {.line = 40});
    ASSERT_EQ(rig.reports().size(), 1u);
    const auto& sites = rig.reports()[0].sites;
    EXPECT_NE(sites[0].agent, sites[1].agent) << rig.text();
    EXPECT_NE(sites[1].agent.find("thread " + std::to_string(writer)), std::string::npos);
  }
  EventRig rig;
  simt::Block& block = rig.block();
  const mem::Address a = rig.memory();
  rig.store({&block, 31}, a, {.line = 20});
  rig.access(*block.warps()[0], AccessKind::load, simt::kAllLanes, all_at(a), {.line = 40});
  ASSERT_EQ(rig.reports().size(), 1u);
  EXPECT_NE(rig.reports()[0].sites[0].agent, rig.reports()[0].sites[1].agent) << rig.text();
}

TEST(Reporter, StrongStoresOfLanesToOneWordAreNoRace) {
  EventRig rig;
  simt::Block& block = rig.block();
  rig.access(*block.warps()[0], AccessKind::store, simt::kAllLanes, all_at(rig.memory()), kVolatile);
  EXPECT_TRUE(rig.clean()) << rig.text();
}

TEST(SameValue, IsAClassOfItsOwnThatCanBeAllowed) {
  for (const bool allowed : {false, true}) {
    EventRig rig({.weak_lines = 0, .sanitizer = true, .allow_same_value = allowed});
    const mem::Address a = rig.memory();  // zeros
    const Value zero(0);
    rig.store(rig.thread(), a, zero.how());
    rig.store(rig.thread(), a, zero.how());
    rig.load(rig.thread(), a);
    EXPECT_EQ(rig.clean(), allowed) << rig.text();
    for (const Report& report : rig.reports()) EXPECT_EQ(report.id, kSameValueId);
  }
}

TEST(SameValue, AnotherValueIsARaceWhateverIsAllowed) {
  EventRig rig({.weak_lines = 0, .sanitizer = true, .allow_same_value = true});
  const mem::Address a = rig.memory();
  const Value zero(0), one(1);
  rig.store(rig.thread(), a, zero.how());
  rig.store(rig.thread(), a, one.how());
  ASSERT_EQ(rig.reports().size(), 1u);
  EXPECT_EQ(rig.reports()[0].id, "unordered");
}

TEST(SameValue, LanesOfOneStore) {
  EventRig rig({.weak_lines = 0, .sanitizer = true, .allow_same_value = true});
  simt::Block& block = rig.block();
  Value value(7);
  rig.access(*block.warps()[0], AccessKind::store, simt::kAllLanes, all_at(rig.memory()), value.how());
  EXPECT_TRUE(rig.clean()) << rig.text();
  value.lanes[20] = 8;
  rig.access(*block.warps()[1], AccessKind::store, simt::kAllLanes, all_at(rig.memory()), value.how());
  ASSERT_EQ(rig.reports().size(), 1u);
  EXPECT_NE(rig.reports()[0].sites[1].agent.find("thread 52"), std::string::npos) << rig.text();
}

void volatile_message(EventRig& rig, const How& write) {
  const Thread writer = rig.thread(0), reader = rig.thread(1);
  const mem::Address data = rig.memory(), flag = rig.memory();
  rig.store(writer, data);
  rig.store(writer, flag, write);
  rig.load(reader, flag, kVolatile);
  rig.load(reader, data);
}

TEST(Volatile, FlagsOrderWhereThatIsAllowed) {
  for (const bool allowed : {false, true}) {
    for (const How& write : {kVolatile, How{}}) {
      EventRig rig({.weak_lines = 0, .allow_volatile = allowed});
      volatile_message(rig, write);
      EXPECT_EQ(rig.clean(), allowed) << rig.text();
    }
  }
}

TEST(Volatile, DataBehindNoFlagIsARaceAllTheSame) {
  EventRig rig({.weak_lines = 0, .allow_volatile = true});
  const mem::Address data = rig.memory(), flag = rig.memory();
  const Thread writer = rig.thread(0), reader = rig.thread(1);
  rig.store(writer, flag, kVolatile);
  rig.store(writer, data);
  rig.load(reader, flag, kVolatile);
  rig.load(reader, data);
  EXPECT_EQ(rig.reports().size(), 1u) << rig.text();
}

}  // namespace
}  // namespace fb::race
