#include "toolchain/device/max_registers.h"

#include <gtest/gtest.h>

namespace fb::toolchain {
namespace {

TEST(MaxRegisters, AreStatedWhereTheKernelStatesNothing) {
  EXPECT_EQ(with_max_registers(".visible .entry k(\n.param .u64 a\n)\n{\nret;\n}\n", 40),
            ".visible .entry k(\n.param .u64 a\n)\n\n.maxnreg 40\n{\nret;\n}\n");
  EXPECT_EQ(with_max_registers(".entry k()\n{}\n.entry l()\n{}\n", 32),
            ".entry k()\n\n.maxnreg 32\n{}\n.entry l()\n\n.maxnreg 32\n{}\n");
}

TEST(MaxRegisters, LeaveTheRestAlone) {
  for (const char* text :
       {".entry k()\n.maxntid 256\n{}\n", ".entry k()\n.maxnreg 64\n{}\n", ".entry k();\n", ".func f()\n{}\n", ""}) {
    EXPECT_EQ(with_max_registers(text, 40), text);
  }
  EXPECT_EQ(with_max_registers(".entry k()\n{}\n", 0), ".entry k()\n{}\n");
}

}  // namespace
}  // namespace fb::toolchain
