#include "toolchain/device/plain_assembly.h"

#include <gtest/gtest.h>

#include <string>

namespace fb::toolchain {
namespace {

// The call, in a module whose attributes #3 are those that clang gives to assembly.
std::string module_with(const std::string& call) {
  return "  " + call + " #3, !dbg !9\nattributes #3 = { convergent nounwind }\n";
}

bool stays_convergent(const std::string& call) {
  const std::string text = with_plain_assembly(module_with(call));
  return text.find(") #3,") != std::string::npos;
}

TEST(PlainAssembly, OfOneThreadMayBeRepeated) {
  EXPECT_FALSE(stays_convergent(R"(%4 = call float asm "cvt.f32.f16 $0, $1;", "=f,h"(i16 %3))"));
  EXPECT_FALSE(stays_convergent(R"(%4 = call i32 asm sideeffect "ld.acquire.sys.b32 $0, [$1];", "=r,l"(ptr %3))"));
  EXPECT_NE(
      with_plain_assembly(module_with(R"(call void asm sideeffect "nop;", ""())")).find("attributes #7 = { nounwind }"),
      std::string::npos);
}

TEST(PlainAssembly, OfAWarpMayNot) {
  EXPECT_TRUE(stays_convergent(R"(call void asm sideeffect "bar.sync 0;", ""())"));
  EXPECT_TRUE(stays_convergent(R"(%4 = call i32 asm "shfl.sync.idx.b32 $0, $1, 0, 31, -1;", "=r,r"(i32 %3))"));
}

// It could be executed in front of the test that guards its address.
TEST(PlainAssembly, ThatLoadsWithoutSideEffectsMayNot) {
  EXPECT_TRUE(stays_convergent(R"(%4 = call i32 asm "ld.global.nc.b32 $0, [$1];", "=r,l"(ptr %3))"));
}

}  // namespace
}  // namespace fb::toolchain
