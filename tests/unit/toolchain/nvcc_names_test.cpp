#include "toolchain/device/nvcc_names.h"

#include <gtest/gtest.h>

namespace fb::toolchain {
namespace {

// The names that clang's host code registers for the same sources.
TEST(NvccNames, OfAnonymousNamespacesAreClangs) {
  EXPECT_EQ(with_clang_names(".entry _ZN36_GLOBAL__N__6beb82a8_4_n_cu_3c7ab8be6hiddenEPi(\n"),
            ".entry _ZN12_GLOBAL__N_16hiddenEPi(\n");
  EXPECT_EQ(with_clang_names(".entry _ZN36_GLOBAL__N__6beb82a8_4_n_cu_3c7ab8be5typedINS_1TEEEvPT_(\n"),
            ".entry _ZN12_GLOBAL__N_15typedINS_1TEEEvPT_(\n");
  EXPECT_EQ(
      with_clang_names(".global .align 4 .u32 "
                       "_ZN34_INTERNAL_6beb82a8_4_n_cu_3c7ab8be36_GLOBAL__N__6beb82a8_4_n_cu_3c7ab8be7counterE;\n"
                       "ld.global.u32 %r1, "
                       "[_ZN34_INTERNAL_6beb82a8_4_n_cu_3c7ab8be36_GLOBAL__N__6beb82a8_4_n_cu_3c7ab8be7counterE+4];\n"),
      ".global .align 4 .u32 _ZN12_GLOBAL__N_17counterE;\n"
      "ld.global.u32 %r1, [_ZN12_GLOBAL__N_17counterE+4];\n");
}

TEST(NvccNames, OfStaticThingsSayThatTheyAre) {
  EXPECT_EQ(with_clang_names(".entry _Z4statPi(\n"), ".entry _ZL4statPi(\n");
  EXPECT_EQ(with_clang_names(".entry _ZN2ns4statEPi(\n"), ".entry _ZN2nsL4statEPi(\n");
  EXPECT_EQ(with_clang_names(".const .align 4 .b8 table[16];\nld.const.u32 %r1, [table+8];\n"),
            ".const .align 4 .b8 _ZL5table[16];\nld.const.u32 %r1, [_ZL5table+8];\n");
}

TEST(NvccNames, OfTheRestStay) {
  for (const char* text : {
           ".visible .entry _Z4callIZ4mainEUliE_EvT_(\n",
           ".visible .global .align 4 .u32 shown;\n",
           ".global .align 1 .b8 $str[4] = {37, 100, 10};\n",
           ".global .align 4 .u32 _ZZ5plainPiE6inside;\n",
           "mov.u32 %r1, %tid.x; // table\n",
       }) {
    EXPECT_EQ(with_clang_names(text), text);
  }
}

}  // namespace
}  // namespace fb::toolchain
