#include "common/base/temp_dir.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <string>

#include "common/base/strings.h"
#include "scratch_folder.h"

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

void make_old(const std::string& path) {
  const utimbuf old{time(nullptr) - 3600, time(nullptr) - 3600};
  utime(path.c_str(), &old);
}

// A process that has a folder with a file in it, until it is killed.
struct Owner {
  pid_t id = 0;
  std::string folder = {};
};

Owner start_owner(const std::string& parent) {
  std::array<int, 2> ends;
  EXPECT_EQ(pipe(ends.data()), 0);
  const pid_t id = fork();
  if (id == 0) {
    const TempDir folder(parent);
    write_file(folder.path() + "/file", "text");
    if (write(ends[1], folder.path().c_str(), folder.path().size()) < 0) _exit(1);
    close(ends[1]);
    for (;;) pause();
  }
  close(ends[1]);
  Owner owner{.id = id};
  std::array<char, 4096> text;
  for (ssize_t got = 0; (got = read(ends[0], text.data(), text.size())) > 0;)
    owner.folder.append(text.data(), static_cast<size_t>(got));
  close(ends[0]);
  return owner;
}

TEST(TempDir, TheNextRemovesThoseOfKilledProcessesAndNoOthers) {
  const ScratchFolder scratch;
  const std::string& parent = scratch.path();
  const Owner owner = start_owner(parent);
  ASSERT_TRUE(std::filesystem::exists(owner.folder + "/file"));
  const std::string other = parent + "/other", young = parent + "/.fabricbench-new.young0",
                    old = parent + "/.fabricbench-new.old000", elsewhere = parent + "/elsewhere",
                    link = parent + "/fabricbench-tmp.link00";
  for (const auto& folder : {other, young, old, elsewhere}) std::filesystem::create_directory(folder);
  std::filesystem::create_directory_symlink(elsewhere, link);
  write_file(elsewhere + "/file", "text");
  make_old(owner.folder);
  make_old(old);
  {
    const TempDir next(parent);
    EXPECT_TRUE(std::filesystem::exists(owner.folder + "/file")) << "its owner lives, however old it is";
  }
  kill(owner.id, SIGKILL);
  waitpid(owner.id, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(owner.folder + "/file"));
  const TempDir next(parent), after(parent);
  EXPECT_FALSE(std::filesystem::exists(owner.folder));
  EXPECT_FALSE(std::filesystem::exists(old)) << "killed before it was locked";
  EXPECT_TRUE(std::filesystem::exists(young)) << "may be about to be locked";
  EXPECT_TRUE(std::filesystem::exists(other));
  EXPECT_TRUE(std::filesystem::exists(elsewhere + "/file")) << "links are not followed";
  EXPECT_TRUE(std::filesystem::exists(next.path()));
}

TEST(TempDir, AForkedChildKeepsTheFolder) {
  const ScratchFolder scratch;
  std::string path;
  pid_t child = 0;
  {
    std::array<int, 2> ends;
    ASSERT_EQ(pipe(ends.data()), 0);
    const pid_t owner = fork();
    if (owner == 0) {
      const TempDir folder(scratch.path());
      const pid_t inner = fork();
      if (inner == 0) {
        for (;;) pause();
      }
      if (write(ends[1], &inner, sizeof inner) < 0) _exit(1);
      kill(getpid(), SIGKILL);
    }
    ASSERT_EQ(read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
    waitpid(owner, nullptr, 0);
    close(ends[0]);
    close(ends[1]);
  }
  const auto folders = [&] {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(scratch.path())) ++count;
    return count;
  };
  {
    const TempDir next(scratch.path());
  }
  EXPECT_EQ(folders(), 1u) << "a session that outlives its judge may still use it";
  kill(child, SIGKILL);
  for (int tries = 0; tries < 5000 && folders() == 1; ++tries) {
    usleep(1000);
    const TempDir next(scratch.path());
  }
  EXPECT_EQ(folders(), 0u);
}

}  // namespace
}  // namespace fb
