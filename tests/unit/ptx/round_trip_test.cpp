// The samples were made by (from tests/unit/ptx/samples)
//   clang++-19 -x cuda --cuda-device-only --cuda-gpu-arch=sm_90 -nocudainc -nocudalib -O0 -g0 -S clang.cu
//   nvcc -ptx -arch=sm_90 -lineinfo nvcc.cu
// and by hand.

#include <gtest/gtest.h>

#include "common/base/strings.h"
#include "common/ptx/parse/parser.h"
#include "common/ptx/print/printer.h"
#include "ptx/form_instances.h"

namespace fb::ptx {
namespace {

Module parse_or_die(std::string_view text, std::string_view name) {
  auto module = parse(text);
  if (!module) throw std::runtime_error(to_string(module.error(), name));
  return *std::move(module);
}

class RoundTrip : public testing::TestWithParam<const char*> {};

TEST_P(RoundTrip, print_of_parse_is_a_fixed_point) {
  const std::string file = std::string(FB_SOURCE_DIR "/tests/unit/ptx/samples/") + GetParam();
  const Module module = parse_or_die(read_file(file), file);
  const std::string printed = print(module);
  const Module again = parse_or_die(printed, file + " printed");
  EXPECT_EQ(print(again), printed);
  ASSERT_EQ(again.functions.size(), module.functions.size());
  for (const Function& function : module.functions) {
    const Function* twin = again.find_function(function.name);
    ASSERT_NE(twin, nullptr);
    ASSERT_EQ(twin->body.size(), function.body.size()) << function.name;
    for (size_t i = 0; i < function.body.size(); ++i) {
      EXPECT_EQ(twin->body[i].form, function.body[i].form);
      EXPECT_EQ(twin->body[i].mods, function.body[i].mods);
      EXPECT_EQ(twin->body[i].types, function.body[i].types);
      EXPECT_EQ(twin->body[i].spaces, function.body[i].spaces);
      EXPECT_EQ(twin->body[i].source, function.body[i].source);
      EXPECT_EQ(twin->body[i].operands.size(), function.body[i].operands.size());
    }
  }
  for (const Variable& variable : module.variables) {
    const Variable* twin = again.find_variable(variable.name);
    ASSERT_NE(twin, nullptr);
    EXPECT_EQ(twin->init, variable.init) << variable.name;
    EXPECT_EQ(twin->bytes, variable.bytes) << variable.name;
    EXPECT_EQ(twin->relocations.size(), variable.relocations.size()) << variable.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, RoundTrip, testing::Values("clang_O0.ptx", "nvcc.ptx", "by_hand.ptx"));

TEST(RoundTrip, every_form_prints_and_reads_back) {
  for (size_t i = 0; i < static_cast<size_t>(Form::count_); ++i) {
    for (const FormInstance& instance : make_instances(static_cast<Form>(i))) {
      const auto module = parse(wrap_instances(instance.text + "\n"));
      if (!module) continue;  // a rule refuses it: form_table_test looks at those
      const std::string printed = print(*module);
      const auto again = parse(printed);
      ASSERT_TRUE(again.has_value()) << instance.text << to_string(again.error(), "printed");
      EXPECT_EQ(print(*again), printed) << instance.text;
    }
  }
}

TEST(Printer, one_instruction_prints_as_the_manual_writes_it) {
  const Module module = parse_or_die(wrap_instances("ld.global.acquire.sys.b32 %r1, [%rd1+-8];\n"
                                                    "@%p1 bra here;\n"
                                                    "setp.lt.s32 %p1|%p2, %r1, 5;\n"
                                                    "bar.sync 0;\n"
                                                    "mov.b64 %rd1, {%r1, %r2};\n"),
                                     "text");
  const Function& kernel = *module.find_function("kernel");
  const auto text = [&](size_t i) { return print(module, kernel, kernel.body[i]); };
  EXPECT_EQ(text(0), "ld.acquire.sys.global.b32 %r1, [%rd1+-8];");
  EXPECT_EQ(text(1), "@%p1 bra here;");
  EXPECT_EQ(text(2), "setp.lt.s32 %p1|%p2, %r1, 5;");
  EXPECT_EQ(text(3), "barrier.sync.aligned 0;");
  EXPECT_EQ(text(4), "mov.b64 %rd1, {%r1, %r2};");
}

}  // namespace
}  // namespace fb::ptx
