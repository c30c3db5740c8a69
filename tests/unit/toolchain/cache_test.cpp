#include "toolchain/compile/cache.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>

#include "common/base/strings.h"
#include "common/base/temp_dir.h"

namespace fb::toolchain {
namespace {

TEST(Cache, GivesBackWhatItWasGiven) {
  const TempDir scratch;
  Cache cache(scratch.path());
  EXPECT_EQ(cache.get("key"), std::nullopt);
  const std::string bytes("a\0b\n", 4);
  cache.put("key", bytes);
  EXPECT_EQ(cache.get("key"), bytes);
  cache.put("key", "");
  EXPECT_EQ(cache.get("key"), "");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1) << "no temporary file is left";
}

TEST(Cache, TakesADamagedEntryForMissing) {
  const TempDir scratch;
  Cache cache(scratch.path());
  cache.put("key", "content");
  std::string entry = read_file(cache.path_of("key"));
  entry.back() ^= 1;
  write_file(cache.path_of("key"), entry);
  EXPECT_EQ(cache.get("key"), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(cache.path_of("key"))) << "it is removed";
  for (const char* text : {"", "short"}) {
    write_file(cache.path_of("key"), text);
    EXPECT_EQ(cache.get("key"), std::nullopt);
  }
}

TEST(Cache, SaysWhyItKeepsNothing) {
  Cache full("/dev/full");  // stands for a folder that cannot be written
  full.put("key", "content");
  EXPECT_NE(full.problem().find("/dev/full/key"), std::string::npos) << full.problem();
  Cache none;
  none.put("key", "content");
  EXPECT_EQ(none.get("key"), std::nullopt);
  EXPECT_EQ(none.problem(), "");
}

TEST(Cache, IsWhereTheUserSays) {
  const TempDir scratch;
  setenv("FABRICBENCH_CACHE", (scratch.path() + "/deep/er").c_str(), 1);
  EXPECT_EQ(Cache::of_user().folder(), scratch.path() + "/deep/er");
  unsetenv("FABRICBENCH_CACHE");
  struct stat facts{};
  ASSERT_EQ(stat((scratch.path() + "/deep/er").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);
}

}  // namespace
}  // namespace fb::toolchain
