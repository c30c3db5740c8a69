#include "launcher/run_directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

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
