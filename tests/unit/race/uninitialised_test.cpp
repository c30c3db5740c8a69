// Reads of memory that nothing has written.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "event_rig.h"

namespace fb::race {
namespace {

class Uninitialised : public testing::Test {
 protected:
  Uninitialised() {
    rig_.detector().look_for_uninitialised([this](Report&& report) { reports_.push_back(std::move(report.text)); });
  }
  mem::Address fresh(uint64_t bytes = 4096) {
    const mem::Address a = rig_.memory(0, bytes);
    rig_.allocation(a).fresh = true;
    return a;
  }
  EventRig rig_;
  std::vector<std::string> reports_;
};

constexpr How kRelaxed = {.order = MemoryOrder::relaxed, .scope = Scope::sys};

TEST_F(Uninitialised, ALoadOfFreshMemoryIsReportedWithItsLineAndTheAllocation) {
  rig_.load(rig_.thread(), fresh() + 64, {.line = 77});
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_NE(reports_[0].find("uninitialised read"), std::string::npos);
  EXPECT_NE(reports_[0].find("byte 64 of"), std::string::npos) << reports_[0];
  EXPECT_TRUE(rig_.clean()) << "it is no race";
}

TEST_F(Uninitialised, AtomicsReadToo) {
  rig_.atomic(rig_.thread(), fresh());
  EXPECT_EQ(reports_.size(), 1u);
}

TEST_F(Uninitialised, WhatWasWrittenMayBeRead) {
  const mem::Address data = fresh();
  const Thread t = rig_.thread();
  rig_.store(t, data);
  rig_.load(t, data);
  rig_.atomic(t, data);
  rig_.load(t, data + 2, {.bytes = 2});
  EXPECT_TRUE(reports_.empty()) << reports_[0];
  rig_.load(t, data + 4);
  EXPECT_EQ(reports_.size(), 1u);
}

TEST_F(Uninitialised, ClearedMemoryMayBePolledAndUpdated) {
  const mem::Address flags = fresh();
  const uint32_t clear = rig_.copy(0, nullptr, {1, 1});
  rig_.detector().access(clear, AccessKind::store, rig_.allocation(flags), 0, 4096);
  const uint32_t kernel = rig_.kernel(0, rig_.end(clear), {1, 2});
  const Thread t{&rig_.block(0, kernel), 0};
  rig_.load(t, flags + 128, kRelaxed);
  rig_.atomic(t, flags + 256);
  EXPECT_TRUE(reports_.empty()) << reports_[0];
}

TEST_F(Uninitialised, MemoryThatBeganWithAValueIsNoConcern) {
  rig_.load(rig_.thread(), rig_.memory());
  EXPECT_TRUE(reports_.empty());
}

TEST_F(Uninitialised, AVectorOfWhichAPartWasWrittenMayBeRead) {
  const mem::Address data = fresh();
  const Thread t = rig_.thread();
  rig_.store(t, data);
  rig_.load(t, data, {.bytes = 16, .element = 4});
  EXPECT_TRUE(reports_.empty()) << reports_[0];
  rig_.load(t, data + 16, {.bytes = 16, .element = 4});
  EXPECT_EQ(reports_.size(), 1u);
}

TEST_F(Uninitialised, CopiesCarryBytesAlongAndStreamsThatWaitUseThem) {
  const mem::Address data = fresh();
  const uint32_t copy = rig_.copy(0, nullptr, {1, 1});
  rig_.detector().access(copy, AccessKind::load, rig_.allocation(data), 0, 512);
  EXPECT_TRUE(reports_.empty());
  const uint32_t wait = rig_.copy(0, nullptr, {1, 2});
  rig_.detector().wait_value(wait, rig_.allocation(data), 1024, 4);
  EXPECT_EQ(reports_.size(), 1u);
}

TEST_F(Uninitialised, NothingIsReportedUnlessAskedFor) {
  EventRig rig;
  const mem::Address data = rig.memory();
  rig.allocation(data).fresh = true;
  rig.load(rig.thread(), data);
  EXPECT_TRUE(rig.clean());
}

}  // namespace
}  // namespace fb::race
