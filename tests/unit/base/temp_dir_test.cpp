#include "base/temp_dir.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/strings.h"

namespace fb {
namespace {

TEST(TempDir, IsPrivateAndRemovedWithItsContents) {
  std::string path;
  {
    const TempDir folder, other;
    path = folder.path();
    EXPECT_NE(path, other.path());
    struct stat facts{};
    ASSERT_EQ(stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0700u);
    std::filesystem::create_directory(path + "/inner");
    write_file(path + "/inner/file", "text");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace fb
