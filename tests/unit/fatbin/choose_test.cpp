#include "ranks/fatbin/choose.h"

#include <gtest/gtest.h>

namespace fb::fatbin {
namespace {

Entry text(uint32_t architecture, Variant variant = Variant::plain) {
  return {.kind = Kind::ptx, .variant = variant, .architecture = architecture, .options = {}, .name = {}, .data = {}};
}
Entry code(uint32_t architecture, Variant variant = Variant::plain) {
  Entry entry = text(architecture, variant);
  entry.kind = Kind::machine_code;
  return entry;
}

std::string chosen(const std::vector<Entry>& entries, uint32_t capability) {
  const Choice choice = choose_text(entries, capability);
  return choice.ptx ? architecture_name(*choice.ptx) : choice.problem;
}

TEST(Choose, TheHighestArchitectureThatTheDeviceHas) {
  const std::vector<Entry> all = {text(75), text(90), text(100), text(120)};
  EXPECT_EQ(chosen(all, 90), "compute_90");
  EXPECT_EQ(chosen(all, 103), "compute_100");
  EXPECT_EQ(chosen(all, 121), "compute_120");
  EXPECT_EQ(chosen(all, 89), "compute_75");
}

TEST(Choose, VariantsBindTheTextToDevices) {
  const std::vector<Entry> all = {text(75), text(90), text(90, Variant::exact), text(100, Variant::family)};
  EXPECT_EQ(chosen(all, 90), "compute_90a");
  EXPECT_EQ(chosen(all, 103), "compute_100f");
  EXPECT_EQ(chosen(all, 120), "compute_90");
  EXPECT_EQ(chosen({text(100, Variant::family), text(100, Variant::exact), text(100)}, 100), "compute_100a");
}

TEST(Choose, MachineCodeThatTheDeviceRunsLetsLaterTextServe) {
  EXPECT_EQ(chosen({code(90), code(100), text(120), text(121)}, 103), "compute_120");
  EXPECT_EQ(chosen({code(90), text(120, Variant::exact), text(120)}, 90), "compute_120");
  // Its text is preferred where there is one.
  EXPECT_EQ(chosen({code(90), text(75), text(120)}, 90), "compute_75");
  // Of another family, or bound to another device: not what runs there.
  EXPECT_EQ(chosen({code(80), text(120)}, 90),
            "the device code is PTX for compute_120, which no device of compute capability 9.0 runs: compile with "
            "-gencode arch=compute_90,code=compute_90");
  EXPECT_NE(chosen({code(100, Variant::exact), text(120)}, 103), "compute_120");
}

TEST(Choose, MachineCodeAloneIsNamedWithTheFlagThatIsMissing) {
  EXPECT_EQ(chosen({code(90), code(90), code(100, Variant::family)}, 90),
            "the device code is machine code for sm_90, sm_100f without PTX, and the node runs PTX: compile with "
            "-gencode arch=compute_90,code=compute_90");
  EXPECT_EQ(chosen({}, 90), "the device code is empty");
}

}  // namespace
}  // namespace fb::fatbin
