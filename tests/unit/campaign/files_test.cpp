#include "campaign/files.h"

#include <unistd.h>

#include <system_error>

#include "common/base/process.h"
#include "common/base/strings.h"
#include "run_folder.h"

namespace fb::campaign {
namespace {

namespace fs = std::filesystem;

using Files = RunFolder;

TEST_F(Files, AppearWholeAndLeaveNothingElse) {
  const std::string path = folder_ + "/a.json";
  publish(path, "first");
  publish(path, std::string(3 << 20, 'x'), Durable::yes);
  EXPECT_EQ(read_file(path).size(), size_t{3} << 20);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(Files, ThatCannotBeWrittenAreNamed) {
  try {
    publish(folder_ + "/missing/a.json", "x");
    FAIL();
  } catch (const std::system_error& e) {
    EXPECT_NE(std::string(e.what()).find("/missing/a.json"), std::string::npos);
  }
}

TEST_F(Files, AreNotReplacedByAFullDisk) {
  publish(folder_ + "/a.json", "before");
  // A file that is a folder can't be renamed over: what was written is taken away again.
  fs::create_directory(folder_ + "/b.json");
  EXPECT_THROW(publish(folder_ + "/b.json", "after"), std::system_error);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2);
}

TEST_F(Files, AreLockedByOne) {
  const std::string path = folder_ + "/.lock";
  auto first = try_lock(path);
  ASSERT_TRUE(first);
  EXPECT_FALSE(try_lock(path));
  first->reset();
  EXPECT_TRUE(try_lock(path));
}

TEST_F(Files, StayLockedByAChildThatHasInherited) {
  const std::string path = folder_ + "/.lock";
  auto first = try_lock(path);
  ASSERT_TRUE(first);
  SpawnOptions start;
  start.command = {"/bin/sh", "-c", "sleep 0.4"};
  start.inherited = {first->get()};
  start.outlives = true;
  const Child child = spawn(start);
  first->reset();
  EXPECT_FALSE(try_lock(path));
  const auto waited = lock(path);
  EXPECT_TRUE(waited);
}

}  // namespace
}  // namespace fb::campaign
