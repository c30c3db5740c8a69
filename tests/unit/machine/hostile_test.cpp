// Text that once broke the machine, or might. Run under the sanitizers this finds out whether it still does.

#include <gtest/gtest.h>

#include <filesystem>

#include "common/base/strings.h"
#include "tests/fuzz/execute_input.h"

namespace fb {
namespace {

const std::string kHeader = ".version 8.6\n.target sm_100a\n.address_size 64\n";

TEST(Hostile, TheMachineSurvivesTheFuzzersCorpus) {
  uint32_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(FB_SOURCE_DIR) + "/tests/fuzz/corpus/execute")) {
    SCOPED_TRACE(entry.path().string());
    const std::string text = read_file(entry.path());
    for (uint64_t seed = 0; seed < 13; ++seed) fuzz::execute_input(text, seed);
    ++files;
  }
  EXPECT_GT(files, 30u);
}

std::string refusal(const std::string& body) {
  machine::Device device;
  const auto module = device.load(kHeader + body);
  return module ? "accepted" : module.error().list.front().message;
}

TEST(Hostile, WhatCannotBeLaidOutIsRefusedWhenItIsLoaded) {
  EXPECT_NE(refusal(R"(.visible .entry k(.param .u64 p) { .reg .b32 %r; .reg .b64 %d, %a;
    ld.param.u64 %a, [p]; ld.global.v2.u32 {%r, %d}, [%a]; ret; })")
                .find("different widths"),
            std::string::npos);
  EXPECT_NE(refusal(".visible .entry k(.param .b8 a[2147483648], .param .b8 b[2147483648]) { ret; }")
                .find("bytes of parameters"),
            std::string::npos);
  EXPECT_NE(refusal(".visible .entry k() { .local .b8 x[2000000]; ret; }").find("MiB for its variables"),
            std::string::npos);
}

TEST(Hostile, WrongDimensionsAreRefused) {
  machine::Device device;
  const auto module = device.load(kHeader + ".visible .entry k() .minnctapersm 134217728 { ret; }");
  ASSERT_TRUE(module) << to_string(module.error(), "k");
  machine::LaunchRequest launch;
  launch.kernel = "k";
  launch.block = {32, 1, 1};
  EXPECT_TRUE(device.run(**module, launch));
  launch.cluster = {0, 1, 1};
  EXPECT_FALSE(device.run(**module, launch));
  launch.cluster = {1, 1, 1};
  launch.grid = {1, 1 << 20, 1};
  EXPECT_FALSE(device.run(**module, launch));
}

}  // namespace
}  // namespace fb
