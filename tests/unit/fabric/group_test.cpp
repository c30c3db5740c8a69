#include "common/platform/group.h"

#include <gtest/gtest.h>

namespace fb::platform {
namespace {

Platform b300() { return load_platform("b300x8").value(); }

TEST(Group, EveryNameIsReadBack) {
  for (const Group group : kGroups) EXPECT_EQ(group_from(name_of(group)), group);
  EXPECT_EQ(group_from("none"), std::nullopt);
  EXPECT_EQ(group_from(""), std::nullopt);
}

TEST(Group, DurationsGrowAndRatesAndLimitsShrink) {
  const Platform p = b300();
  EXPECT_EQ(slower(p, Group::latency, 2).peer.latency, 2 * p.peer.latency);
  EXPECT_EQ(slower(p, Group::latency, 2).fence.system, 2 * p.fence.system);
  EXPECT_DOUBLE_EQ(slower(p, Group::bandwidth, 2).memory.bandwidth, p.memory.bandwidth / 2);
  EXPECT_DOUBLE_EQ(slower(p, Group::bandwidth, 2).memory.atomic_rate, p.memory.atomic_rate / 2);
  EXPECT_EQ(slower(p, Group::in_flight, 2).in_flight.loads, p.in_flight.loads / 2);
  EXPECT_DOUBLE_EQ(slower(p, Group::issue, 2).device.clock, p.device.clock / 2);
  EXPECT_EQ(slower(p, Group::launch, 2).calls.launch, 2 * p.calls.launch);
  EXPECT_EQ(slower(p, Group::launch, 2).copy.start, 2 * p.copy.start);
}

TEST(Group, OtherGroupsStayAsTheyAre) {
  const Platform p = b300(), slow = slower(p, Group::latency, 1.1);
  EXPECT_EQ(slow.peer.copy_bandwidth, p.peer.copy_bandwidth);
  EXPECT_EQ(slow.in_flight.remote_loads, p.in_flight.remote_loads);
  EXPECT_EQ(slow.device.clock, p.device.clock);
  EXPECT_EQ(slow.kernel.launch, p.kernel.launch);
  EXPECT_EQ(slow.device.sms, p.device.sms);
  EXPECT_EQ(slow.memory.size, p.memory.size);
  EXPECT_EQ(slow.fence.barrier, p.fence.barrier) << "cycles are as long as the clock says";
}

// A constant that takes time and is in no group would be in no interval.
TEST(Group, EveryConstantThatTakesTimeIsInAGroup) {
  Platform all = b300();
  for (const Group group : kGroups) all = slower(all, group, 2);
  const Platform p = b300();
  size_t looked_at = 0;
  const auto expect_changed = [&](const char* section, const char* kind, const char* key, auto before, auto after) {
    const std::string_view k = kind;
    if ((k != "duration" && k != "rate") || before == decltype(before){}) return;
    // What NVML says of a link: times follow from the section `peer`.
    if (std::string_view(section) == "nvlink") return;
    ++looked_at;
    EXPECT_NE(before, after) << key;
  };
#define SECTION(Type, section, in_use)               \
  {                                                  \
    const auto &at = p.section, &slow = all.section; \
    const char* const name = #section;
#define CONSTANT(kind, range, group, key, meaning) expect_changed(name, #kind, #key, at.key, slow.key);
#define END_SECTION(Type, section) }
#include "common/platform/constants.def"
#undef SECTION
#undef CONSTANT
#undef END_SECTION
  EXPECT_GT(looked_at, 30u);
}

TEST(Group, AnOptionNamesGroupAndFactor) {
  const Platform p = b300();
  EXPECT_EQ(slower(p, "latency=1.5").value().peer.latency, p.peer.latency * 3 / 2);
  for (const char* text : {"", "latency", "latency=", "latency=1.1x", "speed=1.1", "latency=0", "latency=-1",
                           "latency=nan", "latency=1e9", "=1.1"})
    EXPECT_FALSE(slower(p, text)) << text;
}

TEST(Group, EveryPlatformSaysHowUncertainItIs) {
  for (const std::string& name : platform_names()) {
    for (const double u : uncertainties(load_platform(name).value())) {
      EXPECT_GT(u, 0) << name;
      EXPECT_LT(u, 0.5) << name;
    }
  }
}

}  // namespace
}  // namespace fb::platform
