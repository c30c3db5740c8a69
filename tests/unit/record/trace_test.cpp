#include "common/record/trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "common/base/strings.h"
#include "tests/scratch_folder.h"

namespace fb::record {
namespace {

using Json = nlohmann::json;

TEST(Trace, IsJsonWithTimesInMicroseconds) {
  Trace trace;
  trace.name_process(0, "device 0");
  trace.name_thread(0, 2, "stream 2");
  trace.add_span(0, 2, "kernel<int>(\"x\")", 1'500'001, 4'000'000, {{"blocks", uint64_t{8}}, {"name", "a\nb\xff"}});
  trace.add_counter(0, "NVLink out", 7, 2.5);
  trace.add_instant(0, 2, "fault", 8);
  const auto events = Json::parse(trace.to_json())["traceEvents"];
  ASSERT_EQ(events.size(), 7u);
  EXPECT_EQ(events[0]["args"]["name"], "device 0");
  EXPECT_EQ(events[2]["args"]["name"], "stream 2");
  EXPECT_EQ(events[4]["name"], "kernel<int>(\"x\")");
  EXPECT_DOUBLE_EQ(events[4]["ts"], 1.500001);
  EXPECT_DOUBLE_EQ(events[4]["dur"], 2.499999);
  EXPECT_EQ(events[4]["args"]["blocks"], 8);
  EXPECT_EQ(events[4]["args"]["name"], "a\nb?");
  EXPECT_EQ(events[5]["args"]["value"], 2.5);
  EXPECT_DOUBLE_EQ(events[5]["ts"], 0.000007);
  EXPECT_EQ(events[6]["ph"], "i");
}

TEST(Trace, KeepsItsBound) {
  Trace trace(10'000);
  for (uint64_t i = 0; i < 1000; ++i) trace.add_span(0, 0, "kernel", i, i + 1);
  EXPECT_EQ(trace.events() + trace.left_out(), 1000u);
  EXPECT_GT(trace.left_out(), 0u);
  const auto json = Json::parse(trace.to_json());
  EXPECT_EQ(json["traceEvents"].size(), trace.events());
  EXPECT_EQ(json["otherData"]["left_out"], trace.left_out());
  EXPECT_LT(trace.to_json().size(), 10'200u);
}

TEST(Trace, EventsCanBeAddedToAFileLater) {
  const ScratchFolder folder;
  const std::string file = folder.path("run.json");
  Trace first, labels;
  labels.add_span(1, 0, "label", 0, 5);
  first.write(file);
  labels.append_to(file);
  EXPECT_EQ(Json::parse(read_file(file))["traceEvents"].size(), 1u) << "behind none";
  first.add_span(0, 0, "kernel", 0, 5);
  first.write(file);
  labels.append_to(file);
  labels.append_to(file);
  Trace().append_to(file);
  const auto events = Json::parse(read_file(file))["traceEvents"];
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0]["name"], "kernel");
  EXPECT_EQ(events[2]["name"], "label");
  write_file(file, "[]");
  EXPECT_THROW(labels.append_to(file), std::runtime_error);
}

TEST(Trace, IsValidWhenEmpty) { EXPECT_TRUE(Json::parse(Trace().to_json())["traceEvents"].empty()); }

}  // namespace
}  // namespace fb::record
