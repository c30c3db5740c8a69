#include "common/ptx/form_table.h"

#include <gtest/gtest.h>

#include <set>

#include "common/ptx/parse/parser.h"
#include "common/ptx/words.h"
#include "ptx/form_instances.h"

namespace fb::ptx {
namespace {

constexpr auto kForms = static_cast<size_t>(Form::count_);

TEST(FormTable, every_row_has_a_well_formed_syntax) {
  for (size_t i = 0; i < kForms; ++i) {
    const auto form = static_cast<Form>(i);
    const auto spec = compile_syntax(form, syntax_of(form));
    ASSERT_TRUE(spec.has_value()) << spec.error().list.front().message;
    EXPECT_LE(spec->operands.size(), 16u) << to_string(form);
    EXPECT_GE(tier_of(form), 1u);
    EXPECT_LE(tier_of(form), 5u);
  }
}

TEST(FormTable, a_mistake_in_a_row_is_told) {
  EXPECT_FALSE(compile_syntax(Form::ld, "").has_value());
  EXPECT_FALSE(compile_syntax(Form::ld, "ld.nonsense d, [a]").has_value());
  EXPECT_FALSE(compile_syntax(Form::ld, "ld.{u32,rn} d, [a]").has_value());
  EXPECT_FALSE(compile_syntax(Form::ld, "ld{.global d, [a]").has_value());
  EXPECT_FALSE(compile_syntax(Form::ld, "ld.u32 d, [a").has_value());
  EXPECT_FALSE(compile_syntax(Form::ld, "ld.u32 d, a:u7").has_value());
}

TEST(FormTable, every_modifier_belongs_to_some_form) {
  ModSet used;
  for (size_t i = 0; i < kForms; ++i) {
    for (const OpcodePart& part : spec_of(static_cast<Form>(i)).parts) used |= part.mods;
  }
  for (size_t i = 0; i < used.size(); ++i) EXPECT_TRUE(used[i]) << to_string(static_cast<Mod>(i));
}

TEST(FormTable, spellings_of_modifiers_are_distinct_and_no_group_hides_one) {
  std::set<std::string_view> seen;
  for (size_t i = 0; i < static_cast<size_t>(Mod::count_); ++i) {
    const auto spelling = to_string(static_cast<Mod>(i));
    EXPECT_TRUE(seen.insert(spelling).second) << spelling;
    EXPECT_TRUE(find_group(spelling).empty()) << spelling;
  }
}

// The table alone makes the instructions, so a row that the parser cannot read shows here.
TEST(FormTable, every_form_can_be_written_and_is_read_back_as_itself) {
  for (size_t i = 0; i < kForms; ++i) {
    const auto form = static_cast<Form>(i);
    size_t read = 0;
    for (const FormInstance& instance : make_instances(form)) {
      const auto module = parse(wrap_instances(instance.text + "\n"));
      if (!module) {
        // Only rules which the syntax cannot express may refuse; they name the form and the opcode.
        const std::string opcode = instance.text.substr(0, instance.text.find_first_of(" ;"));
        EXPECT_TRUE(
            module.error().list.front().message.starts_with(std::string(to_string(form)) + ": " + opcode + ": "))
            << instance.text << " " << module.error().list.front().message;
        continue;
      }
      ++read;
      EXPECT_EQ(module->find_function("kernel")->body.front().form, form) << instance.text;
    }
    EXPECT_GT(read, 0u) << to_string(form);
  }
}

TEST(Words, special_registers_are_found_by_spelling) {
  EXPECT_EQ(find_special_reg("%tid.x"), SpecialReg::tid_x);
  EXPECT_EQ(find_special_reg("%globaltimer"), SpecialReg::globaltimer);
  EXPECT_EQ(type_of(SpecialReg::clock64), Type::u64);
  EXPECT_FALSE(find_special_reg("%tid").has_value());
}

}  // namespace
}  // namespace fb::ptx
