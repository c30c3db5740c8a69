#include "launcher/run_directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <utime.h>

#include <ctime>
#include <filesystem>
#include <string>

#include "scratch_folder.h"

namespace fb::launcher {
namespace {

namespace fs = std::filesystem;

TEST(RunDirectory, IsPrivateAndGoesWithItsObject) {
  std::string path;
  {
    const RunDirectory directory;
    path = directory.path();
    struct stat facts{};
    ASSERT_EQ(stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0700u);
    EXPECT_LT(directory.file("machine.sock").size(), 108u);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(RunDirectory, RemovesWhatAKilledRunLeft) {
  const ScratchFolder folder;
  const std::string& parent = folder.path();
  setenv("TMPDIR", parent.c_str(), 1);
  const std::string dead = parent + "/fabricbench-run.dead00";
  const std::string other = parent + "/other";
  fs::create_directory(dead);
  fs::create_directory(other);
  const auto live = std::make_unique<RunDirectory>();
  EXPECT_TRUE(fs::exists(dead)) << "it is too young to be sure";
  for (const auto& path : {dead, other, live->path()}) {
    const utimbuf old{time(nullptr) - 3600, time(nullptr) - 3600};
    utime(path.c_str(), &old);
  }
  const RunDirectory next;
  unsetenv("TMPDIR");
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(other));
  EXPECT_TRUE(fs::exists(live->path())) << "in use";
}

TEST(RunDirectory, KeepsSocketPathsShort) {
  const ScratchFolder folder;
  const std::string parent = folder.path(std::string(90, 'x'));
  fs::create_directories(parent);
  setenv("TMPDIR", parent.c_str(), 1);
  {
    const RunDirectory directory;
    EXPECT_LT(directory.file("machine.sock").size(), 108u);
  }
  unsetenv("TMPDIR");
}

}  // namespace
}  // namespace fb::launcher
