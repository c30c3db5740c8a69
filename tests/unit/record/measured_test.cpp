// Results of exported folders (common/record/measured.h).
#include "common/record/measured.h"

#include <gtest/gtest.h>

namespace fb::record {
namespace {

TEST(Measured, ResultsAreRead) {
  const auto results = parse_measured(R"({"schema": 1, "problem": "push_copy", "task": "00ff", "world": 8, "nodes": 2,
    "gpu": {"name": "H100", "capability": 90}, "solutions": {"solution": "0123456789abcdef"}, "host": "ignored",
    "rows": [{"size": "1MiB", "solution": "solution", "right": false, "wrong": "out[0]", "bytes": 4},
             {"size": "1MiB", "solution": "reference", "right": true, "us": [3, 1, 2]}]})");
  ASSERT_TRUE(results) << to_string(results.error(), "");
  EXPECT_EQ(results->problem, "push_copy");
  EXPECT_EQ(results->task, "00ff");
  EXPECT_EQ(results->world, 8);
  EXPECT_EQ(results->nodes, 2);
  EXPECT_FALSE(results->modelled);
  EXPECT_EQ(results->gpu.name, "H100");
  EXPECT_EQ(results->solutions.at("solution"), "0123456789abcdef");
  ASSERT_EQ(results->rows.size(), 2u);
  EXPECT_EQ(results->rows[0].wrong, "out[0]");
  EXPECT_EQ(results->rows[1].us, (std::vector<double>{3, 1, 2}));
}

TEST(Measured, OtherTextIsAnError) {
  for (const char* text :
       {"", "[]", "{}", R"({"schema": 2, "problem": "p", "task": "t", "world": 1, "gpu": {"name": "g"}, "rows": []})",
        R"({"schema": 1, "problem": "p", "world": 1, "gpu": {"name": "g"}, "rows": []})",
        R"({"schema": 1, "problem": "p", "task": "t", "world": 1, "gpu": {"name": "g"}, "rows": [{}]})"})
    EXPECT_FALSE(parse_measured(text)) << text;
}

TEST(Measured, ChecksumsAreFnv1a) {
  EXPECT_EQ(source_checksum(""), "cbf29ce484222325");
  EXPECT_EQ(source_checksum("foobar"), "85944171f73967e8");
}

}  // namespace
}  // namespace fb::record
