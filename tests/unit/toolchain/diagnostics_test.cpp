#include "toolchain/compile/diagnostics.h"

#include <gtest/gtest.h>

namespace fb::toolchain {
namespace {

TEST(Diagnostics, KeepErrorsWithTheirNotesAndDropWarnings) {
  const Errors errors = parse_diagnostics(
      "a.cu:1:2: warning: meh\n"
      "a.cu:1:3: note: about the warning\n"
      "a.cu:4:5: error: wrong\n"
      "a.cu:6:7: note: because\n"
      "2 errors generated when compiling for sm_90.\n",
      "a.cu");
  ASSERT_EQ(errors.list.size(), 2u);
  EXPECT_EQ(errors.list[0].at, (Location{4, 5}));
  EXPECT_EQ(errors.list[0].message, "wrong");
  EXPECT_EQ(errors.list[1].at, (Location{6, 7}));
  EXPECT_EQ(errors.list[1].message, "note: because");
}

TEST(Diagnostics, NameAnotherFileInTheMessage) {
  const Errors errors = parse_diagnostics("inc/b.h:4:5: fatal error: 'c.h' file not found\n", "a.cu");
  ASSERT_EQ(errors.list.size(), 1u);
  EXPECT_EQ(errors.list[0].at, Location{});
  EXPECT_EQ(errors.list[0].message, "inc/b.h:4:5: 'c.h' file not found");
}

TEST(Diagnostics, KeepErrorsWithoutAPlace) {
  const Errors errors = parse_diagnostics("clang++-19: error: no such file or directory: 'a.cu'\n", "a.cu");
  ASSERT_EQ(errors.list.size(), 1u);
  EXPECT_EQ(errors.list[0].message, "no such file or directory: 'a.cu'");
}

TEST(Diagnostics, AreNeverEmpty) {
  EXPECT_EQ(parse_diagnostics("Segmentation fault\n", "a.cu").list[0].message,
            "the compiler failed: Segmentation fault");
  EXPECT_EQ(parse_diagnostics("LLVM ERROR: out of memory\nStack dump:\n", "a.cu").list[0].message,
            "LLVM ERROR: out of memory");
}

}  // namespace
}  // namespace fb::toolchain
