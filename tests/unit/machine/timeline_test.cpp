#include "virtual_node/machine/process/timeline.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/unit/machine/node_host.h"

namespace fb::machine {
namespace {

using Json = nlohmann::json;
using wire::Kind;
using wire::Status;

class TimelineTest : public testing::Test {
 protected:
  static NodeOptions traced() {
    NodeOptions o = NodeHost::options(uint64_t{256} << 20, 0);
    o.trace = true;
    return o;
  }

  void launch(uint32_t blocks) {
    const uint64_t parameters[] = {words_, 1};
    wire::Launch m;
    m.function = rank_.function("store");
    m.grid[0] = blocks;
    m.block[0] = 32;
    ASSERT_EQ(rank_.status<Kind::launch>(m, std::as_bytes(std::span(parameters))), Status::ok);
  }

  Json events(std::string_view why = "") {
    const record::Trace* trace = host_.node.finish_trace(why);
    return trace ? Json::parse(trace->to_json())["traceEvents"] : Json();
  }

  static bool is_block(const Json& event) {
    return event["ph"] == "X" && event["tid"].get<uint32_t>() >= Timeline::kFirstBlockRow;
  }

  NodeHost host_{traced()};
  Rank rank_{host_, 0};
  uint64_t words_ = rank_.allocate(0, 1 << 20);
};

TEST_F(TimelineTest, ShowsSoManyBlocksOfARun) {
  constexpr uint32_t kLaunches = Timeline::kMostOfRun / Timeline::kMostOfLaunch + 2;
  for (uint32_t k = 0; k < kLaunches; ++k) {
    launch(Timeline::kMostOfLaunch);
    ASSERT_TRUE(host_.settle());
  }
  uint64_t blocks = 0, kernels = 0, said = 0;
  uint32_t last = 0;
  for (const Json& event : events()) {
    blocks += is_block(event) ? 1 : 0;
    if (event["ph"] != "X" || !event["args"].contains("blocks_shown")) continue;
    ++kernels;
    EXPECT_EQ(event["args"]["blocks"], Timeline::kMostOfLaunch);
    EXPECT_EQ(event["args"]["blocks_ended"], Timeline::kMostOfLaunch);
    last = event["args"]["blocks_shown"];
    said += last;
  }
  EXPECT_EQ(kernels, kLaunches) << "kernels are shown all the same";
  EXPECT_EQ(blocks, Timeline::kMostOfRun);
  EXPECT_EQ(said, blocks);
  EXPECT_EQ(last, 0u);
}

TEST_F(TimelineTest, WhatBelongedToAProcessThatLeftNeverEnded) {
  const wire::StreamRef stream = rank_.stream(true);
  ASSERT_EQ(rank_.launch(stream, "copy_after", {words_, words_ + 4, words_ + 8}), Status::ok);
  ASSERT_EQ(rank_.launch(stream, "copy_after", {words_, words_ + 4, words_ + 8}), Status::ok);
  ASSERT_TRUE(host_.settle());
  rank_.leave();
  int kernels = 0, blocks = 0;
  for (const Json& event : events("deadlock")) {
    if (event["ph"] != "X") continue;
    EXPECT_NE(event["name"].get<std::string>().find("[never ended]"), std::string::npos) << event;
    if (is_block(event)) {
      ++blocks;
    } else {
      ++kernels;
      EXPECT_EQ(event["args"]["ended"], "its process has left");
    }
  }
  EXPECT_EQ(kernels, 1) << "the second one never began";
  EXPECT_EQ(blocks, 1);
}

TEST(TimelineOfNothing, IsThereOnlyIfItWasAskedFor) {
  NodeHost host;
  EXPECT_EQ(host.node.finish_trace(""), nullptr);
}

}  // namespace
}  // namespace fb::machine
