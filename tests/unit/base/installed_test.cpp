#include "common/base/installed.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "common/base/strings.h"
#include "scratch_folder.h"

namespace fb {
namespace {

constexpr SharedFolder kFolder{.variable = "FABRICBENCH_TEST_FOLDER",
                               .name = "tests_of_nothing",
                               .source = FB_SOURCE_DIR "/tests/unit/base",
                               .sign = "installed_test.cpp",
                               .kind = "folder of tests",
                               .them = "the tests"};

class Installed : public testing::Test {
 protected:
  void TearDown() override { unsetenv(kFolder.variable); }
};

TEST_F(Installed, WhatIsNotInstalledIsInTheSourceTree) { EXPECT_EQ(locate(kFolder).value(), kFolder.source); }

TEST_F(Installed, AVariableDecides) {
  const ScratchFolder folder;
  const std::string& chosen = folder.path();
  setenv(kFolder.variable, chosen.c_str(), 1);
  ASSERT_FALSE(locate(kFolder));
  EXPECT_EQ(locate(kFolder).error().list[0].message,
            "FABRICBENCH_TEST_FOLDER names no folder of tests: " + chosen + "/installed_test.cpp is missing");
  write_file(chosen + "/installed_test.cpp", "");
  EXPECT_EQ(locate(kFolder).value(), chosen);
}

TEST_F(Installed, WhatIsNowhereSaysWhereItWasLookedFor) {
  SharedFolder nowhere = kFolder;
  nowhere.sign = "nothing";
  ASSERT_FALSE(locate(nowhere));
  const std::string message = locate(nowhere).error().list[0].message;
  EXPECT_NE(message.find("share/fabricbench/tests_of_nothing"), std::string::npos) << message;
  EXPECT_NE(message.find("set FABRICBENCH_TEST_FOLDER"), std::string::npos) << message;
}

TEST_F(Installed, ProgramsStandBesideThisOne) {
  const std::string own = std::filesystem::path(own_program()).filename();
  EXPECT_EQ(locate_program(kFolder.variable, own.c_str()).value(), own_program());
  ASSERT_FALSE(locate_program(kFolder.variable, "no_such_program"));
  setenv(kFolder.variable, "/bin/sh", 1);
  EXPECT_EQ(locate_program(kFolder.variable, "no_such_program").value(), "/bin/sh");
  setenv(kFolder.variable, "/nowhere", 1);
  EXPECT_EQ(locate_program(kFolder.variable, "no_such_program").error().list[0].message,
            "FABRICBENCH_TEST_FOLDER names no program: /nowhere");
}

}  // namespace
}  // namespace fb
