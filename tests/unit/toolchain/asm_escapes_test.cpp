#include "toolchain/source/asm_escapes.h"

#include <gtest/gtest.h>

namespace fb::toolchain {
namespace {

TEST(AsmEscapes, DoubleThePercentOfSpecialRegisters) {
  EXPECT_EQ(escape_asm(R"(asm("mov.u32 %0, %laneid;" : "=r"(x));)"), R"(asm("mov.u32 %0, %%laneid;" : "=r"(x));)");
  EXPECT_EQ(escape_asm(R"(asm volatile("mov.u64 %0, %globaltimer;" : "=l"(x) :: "memory");)"),
            R"(asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(x) :: "memory");)");
  EXPECT_EQ(escape_asm(R"(__asm__ __volatile__ ("mov.u32 %0, %ctaid.x;" : "=r"(x));)"),
            R"(__asm__ __volatile__ ("mov.u32 %0, %%ctaid.x;" : "=r"(x));)");
}

TEST(AsmEscapes, ReachEveryLiteralOfAStatement) {
  EXPECT_EQ(escape_asm("asm(\"{\\n\" // %smid\n  \"mov.u32 %0, %smid; \\\" }\" /* ) */\n : \"=r\"(x));"),
            "asm(\"{\\n\" // %smid\n  \"mov.u32 %0, %%smid; \\\" }\" /* ) */\n : \"=r\"(x));");
  EXPECT_EQ(escape_asm("asm(R\"x(mov.u32 %0, \"%tid.x\";)x\" : \"=r\"(x));"),
            "asm(R\"x(mov.u32 %0, \"%%tid.x\";)x\" : \"=r\"(x));");
  EXPECT_EQ(escape_asm("#define LANE(x) \\\n  asm volatile( \\\n  \"mov.u32 %0, %lanemask_lt;\" : \"=r\"(x))\n"),
            "#define LANE(x) \\\n  asm volatile( \\\n  \"mov.u32 %0, %%lanemask_lt;\" : \"=r\"(x))\n");
}

TEST(AsmEscapes, DoubleThePercentOfNamesThatTheStatementDeclares) {
  EXPECT_EQ(escape_asm(R"(asm("{ .reg .pred %p; @%p mov.u32 %0, %1; .reg .b32 %tmp; }" : "=r"(x) : "r"(y));)"),
            R"(asm("{ .reg .pred %%p; @%%p mov.u32 %0, %1; .reg .b32 %%tmp; }" : "=r"(x) : "r"(y));)");
}

TEST(AsmEscapes, AddCommasBetweenOperands) {
  EXPECT_EQ(escape_asm(R"(asm("add.u32 %0, %1, %2;" : "=r"(x) : "r"(f(a)) "r"(b), "l" "l"(c) [n]"r"(d) : "memory");)"),
            R"(asm("add.u32 %0, %1, %2;" : "=r"(x) : "r"(f(a)) ,"r"(b), "l" "l"(c) ,[n]"r"(d) : "memory");)");
}

TEST(AsmEscapes, LeaveNumbersBeyondTheOperandsToTheAssembler) {
  EXPECT_EQ(escape_asm(R"(asm("add.u32 %0, %1, %2;" : "=r"(x) : "r"(y));)"),
            R"(asm("add.u32 %0, %1, %%2;" : "=r"(x) : "r"(y));)");
  const char* macro = R"(asm("add.u32 %0, %1, %12;" : "=r"(x) : INPUTS);)";  // of unknown number
  EXPECT_EQ(escape_asm(macro), macro);
}

TEST(AsmEscapes, LeaveEverythingElseAlone) {
  for (const char* text : {
           R"(asm("mov.u32 %0, %%laneid;" : "=r"(x));)",  // doubled already
           R"(asm("mov.u32 %r1; %c2 %[laneid]" : : );)",  // modifiers and a named operand
           R"(asm("mov.u32 r, %laneid;");)",              // no operands: taken as it stands
           R"(printf("%laneid %d", tid);)",
           R"(// asm("mov.u32 %0, %laneid;" : "=r"(x));)",
           R"x(const char* s = "asm(\"%laneid\" : )";)x",
           R"(my_asm("%laneid" : x);)",
           R"(int n = 1'000'000; char c = '"'; f("%laneid");)",
           "asm(\"mov.u32 %0, %laneid",
           "asm volatile",
           "R\"(asm(\"%laneid\" : ))\"",
           "/* asm(",
       }) {
    EXPECT_EQ(escape_asm(text), text);
  }
}

}  // namespace
}  // namespace fb::toolchain
