#include "toolchain/device/ptxas_facts.h"

#include <gtest/gtest.h>

#include <string>

#include "common/ptx/parse/parser.h"
#include "common/ptx/print/printer.h"

namespace fb::toolchain {
namespace {

constexpr const char* kPtx =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry first(\n\t.param .u64 p\n)\n.maxntid 128, 1, 1\n{\n\tret;\n}\n"
    ".visible .entry second()\n{\n\tret;\n}\n";
constexpr const char* kSaid =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'second' for 'sm_90a'\n"
    "ptxas info    : Function properties for second\n"
    "    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
    "ptxas info    : Used 255 registers, used 1 barriers, 8192 bytes smem\n"
    "ptxas info    : Compiling entry function 'first' for 'sm_90a'\n"
    "ptxas info    : Function properties for first\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 40 registers, used 0 barriers\n";

ptx::Module parsed(const std::string& text) {
  auto module = ptx::parse(text);
  EXPECT_TRUE(module.has_value()) << (module ? "" : to_string(module.error(), text));
  return module ? std::move(*module) : ptx::Module{};
}

TEST(PtxasFacts, ReachTheKernelThatTheyAreOf) {
  const ptx::Module module = parsed(with_ptxas_facts(kPtx, kSaid));
  EXPECT_EQ(module.find_function("first")->assembled.registers, 40u);
  EXPECT_EQ(module.find_function("first")->bounds.max_threads[0], 128u);
  const ptx::Assembled& second = module.find_function("second")->assembled;
  EXPECT_EQ(second.registers, 255u);
  EXPECT_EQ(second.spill_store_bytes, 12u);
  EXPECT_EQ(second.spill_load_bytes, 20u);
  EXPECT_EQ(parsed(ptx::print(module)).find_function("second")->assembled.spill_load_bytes, 20u);
}

TEST(PtxasFacts, OfAProgramAreNotBelieved) {
  std::string own = kPtx;
  own.insert(own.find(".maxntid"), ".pragma \"fabricbench.assembled 8 0 0\";\n");
  ASSERT_EQ(parsed(own).find_function("first")->assembled.registers, 8u);
  EXPECT_EQ(with_ptxas_facts(own, "").find("fabricbench"), std::string::npos);
  EXPECT_EQ(parsed(with_ptxas_facts(own, kSaid)).find_function("first")->assembled.registers, 40u);
}

}  // namespace
}  // namespace fb::toolchain
