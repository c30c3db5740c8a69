#include "judge/session/report_words.h"

#include <gtest/gtest.h>

namespace fb::judge {
namespace {

TEST(ReportWords, TensorsHaveTheirNames) {
  catalog::Problem problem;
  problem.tensors.resize(2);
  problem.tensors[0].name = "in";
  problem.tensors[1].name = "out";
  EXPECT_EQ(in_words_of(problem, "byte 8 of tensor 1 of rank 2 #2000002 of device 2 (64 bytes), address m1+0x8"),
            "byte 8 of `out` of rank 2 (64 bytes), address m1+0x8");
  EXPECT_EQ(in_words_of(problem,
                        "4 bytes past the end of tensor 0 of rank 0 #2 (4 bytes at 0x10); tensor 1 of rank 3 "
                        "#3000002 of rank 3, device 3\n"),
            "4 bytes past the end of `in` of rank 0 (4 bytes at 0x10); `out` of rank 3\n");
  EXPECT_EQ(in_words_of(problem, "tensor 7 of rank 0 #9 of device 0"), "tensor 7 of rank 0 #9 of device 0");
  EXPECT_EQ(in_words_of(problem, "byte 0 of cudaMalloc #3 of device 0"), "byte 0 of cudaMalloc #3 of device 0");
  EXPECT_EQ(in_words_of(problem, ""), "");
}

}  // namespace
}  // namespace fb::judge
