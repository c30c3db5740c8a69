#include "audit/calibrate/constants.h"

#include <gtest/gtest.h>

#include <vector>

#include "audit/calibrate/fit.h"
#include "common/base/strings.h"
#include "common/platform/platform.h"

namespace fb::calibrate {
namespace {

constexpr std::string_view kText =
    "# start = { value = 1 }\nname = \"x\"\n\n[copy]\nstart = { value = 5.8, unit = \"us\", source = \"fitted, value = "
    "3\" }\n"
    "[kernel]\nstart = { value = 2, unit = \"us\", source = \"prior\" } # why\n";

TEST(Constants, AreReadAndChangedInTheirSection) {
  const auto values = read_values(kText, {"copy.start"});
  ASSERT_TRUE(values);
  EXPECT_EQ(*values, (Values{{"copy.start", 5.8}}));
  EXPECT_EQ(with_values(kText, {{"kernel.start", 2.25}}),
            "# start = { value = 1 }\nname = \"x\"\n\n[copy]\nstart = { value = 5.8, unit = \"us\", source = \"fitted, "
            "value = "
            "3\" }\n[kernel]\nstart = { value = 2.25, unit = \"us\", source = \"prior\" } # why\n");
}

TEST(Constants, ThatTheFileDoesNotHaveAreNamed) {
  const auto values = read_values(kText, {"copy.end"});
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().list[0].message, "the platform's file has no copy.end of its own");
}

TEST(Constants, ThatAreFittedAreInThePlatformAndMakeADifference) {
  for (const auto& [platform, first] :
       {std::pair("b300x8", "peer.latency"), std::pair("gh200x2", "nic.loopback_bandwidth")}) {
    const std::string text = read_file(std::string(FB_SOURCE_DIR "/platforms/") + platform + ".toml");
    const auto curves = load_curves(platform);
    ASSERT_TRUE(curves);
    std::vector<std::string> keys;
    for (const Parameter& parameter : fitted_parameters(*curves, text)) keys.emplace_back(parameter.key);
    ASSERT_FALSE(keys.empty());
    EXPECT_EQ(keys.front(), first);
    const auto values = read_values(text, keys);
    ASSERT_TRUE(values) << to_string(values.error(), "");
    for (const auto& [key, value] : *values) {
      const std::string changed = with_values(text, {{key, value * 1.5}});
      EXPECT_NE(changed, text) << key;
      EXPECT_TRUE(platform::parse_platform(changed)) << key;
    }
  }
}

}  // namespace
}  // namespace fb::calibrate
