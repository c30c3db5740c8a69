#include "judge/identity.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "common/base/strings.h"
#include "common/platform/platform.h"
#include "scratch_folder.h"
#include "toolchain/compile/identity.h"

namespace fb::judge {
namespace {

namespace fs = std::filesystem;

// Everything that identity() covers, as files of the test's own.
class Identity : public ::testing::Test {
 protected:
  Identity() {
    for (const char* name : kPrograms) scratch_.write(name, std::string("program ") + name);
    scratch_.write("clang++", "compiler");
    scratch_.write("sdk/include/cuda_runtime.h", "#pragma once\n");
    scratch_.write("sdk/include/fabricbench/entry.h", "#pragma once\n");
  }

  std::string now() const {
    IdentityParts parts;
    for (const char* name : kPrograms) parts.programs.push_back(scratch_.path(name));
    parts.toolchain = toolchain::identity_of({.compiler = scratch_.path("clang++"), .sdk = scratch_.path("sdk")});
    parts.platform = values_;
    return identity_of(parts);
  }

  static constexpr const char* kPrograms[] = {"fabricbench", "fabricbench-machine", "fabricbench-rank",
                                              "fabricbench-confine", "libfabricbench_cuda.so"};
  const ScratchFolder scratch_;
  std::string values_ = "values";
};

TEST_F(Identity, ChangesWithEachPart) {
  std::set<std::string> seen = {now()};
  const auto is_new = [&] { return seen.insert(now()).second; };
  EXPECT_FALSE(is_new()) << "nothing has changed";
  for (const char* name : kPrograms) {
    const std::string text = read_file(scratch_.path(name));
    scratch_.write(name, text + "!");
    EXPECT_TRUE(is_new()) << name << " is longer";
    std::string same_length = text;
    same_length.back() = '?';
    scratch_.write(name, same_length);
    EXPECT_TRUE(is_new()) << name << " is as long and has another byte";
    fs::remove(scratch_.path(name));
    EXPECT_TRUE(is_new()) << name << " is missing";
    scratch_.write(name, text);
    EXPECT_FALSE(is_new()) << name << " is as it was";
  }
  scratch_.write("clang++", "another compiler");
  EXPECT_TRUE(is_new());
  scratch_.write("sdk/include/fabricbench/entry.h", "#pragma once\n// changed\n");
  EXPECT_TRUE(is_new()) << "a header";
  scratch_.write("sdk/include/fabricbench/more.h", "");
  EXPECT_TRUE(is_new()) << "one header more";
  fs::remove(scratch_.path("sdk/include/fabricbench/more.h"));
  fs::rename(scratch_.path("sdk/include/cuda_runtime.h"), scratch_.path("sdk/include/cuda_runtime_api.h"));
  EXPECT_TRUE(is_new()) << "a header of another name";
  values_ = "other values";
  EXPECT_TRUE(is_new());
}

TEST_F(Identity, SwappedProgramsAreOthers) {
  const std::string before = now();
  fs::rename(scratch_.path("fabricbench"), scratch_.path("x"));
  fs::rename(scratch_.path("fabricbench-rank"), scratch_.path("fabricbench"));
  fs::rename(scratch_.path("x"), scratch_.path("fabricbench-rank"));
  EXPECT_NE(now(), before);
}

TEST_F(Identity, OfAPlatformIsThatOfItsValues) {
  const auto with = [&](const std::string& name, const std::string& text) {
    return identity(scratch_.write(name, "name = \"mine\"\nbase = \"h100x8\"\ndescription = \"a\"\n" + text));
  };
  const std::string plain = with("mine.toml", "");
  EXPECT_EQ(with("mine.toml", "# a comment\n"), plain) << "no value has changed";
  EXPECT_NE(with("mine.toml", "[device]\nsms = { value = 131, source = \"test\" }\n"), plain);
  EXPECT_NE(with("mine.toml", "[device]\nclock = { value = 1979, unit = \"MHz\", source = \"test\" }\n"), plain);
  EXPECT_NE(identity("h100x8"), identity("b300x8"));
  EXPECT_NE(identity("h100x8"), identity("no_such_platform"));
}

// The list itself: a program that a verdict depends on and that is not here would be forgotten.
TEST_F(Identity, NamesThePrograms) {
  std::vector<std::string> names;
  for (const auto& program : identity_parts("h100x8", toolchain::DeviceCompiler::clang).programs)
    names.push_back(fs::path(program).filename());
  ASSERT_EQ(names.size(), 5u);
  EXPECT_EQ(names[2], "fabricbench-rank");
  EXPECT_EQ(names[4], "libfabricbench_cuda.so");
}

}  // namespace
}  // namespace fb::judge
