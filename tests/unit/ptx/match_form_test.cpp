#include "common/ptx/parse/match_form.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "common/base/rng.h"
#include "common/base/strings.h"
#include "common/ptx/words.h"

namespace fb::ptx {
namespace {

std::vector<std::string> read_spellings(const std::string& file) {
  std::vector<std::string> spellings;
  const std::string text = read_file(file);
  for (const auto line : split(text, '\n')) {
    if (line.empty() || line.starts_with('#') || line.starts_with("spelling\t")) continue;
    spellings.emplace_back(line.substr(0, line.find('\t')));
  }
  return spellings;
}

// Forms that share their spelling and are told apart by their operands.
bool differ_by_operands(const std::vector<const FormSpec*>& forms) {
  static const std::vector<std::set<Form>> families = {
      {Form::mov, Form::mov_pack, Form::mov_unpack},
      {Form::cp_async, Form::cp_async_ignore_src},
      {Form::tcgen05_mma, Form::tcgen05_mma_masked, Form::tcgen05_mma_ts, Form::tcgen05_mma_ts_masked,
       Form::tcgen05_mma_other},
      {Form::min_float, Form::min3_float},
      {Form::max_float, Form::max3_float}};
  std::set<Form> found;
  for (const FormSpec* spec : forms) found.insert(spec->form);
  return std::ranges::find(families, found) != families.end();
}

TEST(MatchForm, every_spelling_of_real_code_matches_exactly_one_form) {
  const auto spellings = read_spellings(FB_SOURCE_DIR "/src/audit/inspect/ptx_spellings.tsv");
  EXPECT_EQ(spellings.size(), 529u);
  for (const std::string& spelling : spellings) {
    const OpcodeMatch match = match_opcode(spelling);
    EXPECT_TRUE(match.forms.size() == 1 || differ_by_operands(match.forms)) << spelling << ": " << match.problem;
  }
}

TEST(MatchForm, modifiers_may_come_in_any_order) {
  Rng rng(7);
  for (const std::string& spelling : read_spellings(FB_SOURCE_DIR "/src/audit/inspect/ptx_spellings.tsv")) {
    auto words = split(spelling, '.');
    // Types and spaces keep their order among themselves; the other words move freely.
    std::vector<std::string_view> slots, mods;
    for (const auto word : std::span(words).subspan(1)) {
      (find_word(word)->kind == Word::Kind::mod ? mods : slots).push_back(word);
    }
    for (size_t i = mods.size(); i > 1; --i) std::swap(mods[i - 1], mods[rng.below(i)]);
    std::string shuffled(words.front());
    for (size_t m = 0, s = 0; m < mods.size() || s < slots.size();) {
      const bool take_mod = s == slots.size() || (m < mods.size() && rng.below(2) == 0);
      shuffled += "." + std::string(take_mod ? mods[m++] : slots[s++]);
    }
    const OpcodeMatch expected = match_opcode(spelling), match = match_opcode(shuffled);
    EXPECT_EQ(match.forms, expected.forms) << shuffled;
    EXPECT_EQ(match.mods, expected.mods) << shuffled;
    EXPECT_EQ(match.types, expected.types) << shuffled;
    EXPECT_EQ(match.spaces, expected.spaces) << shuffled;
  }
}

TEST(MatchForm, types_and_spaces_keep_their_order) {
  const OpcodeMatch cvt = match_opcode("cvt.rn.f32.s32");
  ASSERT_EQ(cvt.forms.size(), 1u);
  EXPECT_EQ(cvt.forms.front()->form, Form::cvt_int_to_float);
  EXPECT_EQ(cvt.types, (std::vector{Type::f32, Type::s32}));
  const OpcodeMatch copy = match_opcode("cp.async.bulk.global.shared::cta.bulk_group");
  ASSERT_EQ(copy.forms.size(), 1u);
  EXPECT_EQ(copy.forms.front()->form, Form::cp_async_bulk_s2g);
  EXPECT_EQ(copy.spaces, (std::vector{Space::global, Space::shared}));
}

TEST(MatchForm, bar_is_an_aligned_barrier) {
  const OpcodeMatch bar = match_opcode("bar.sync"), barrier = match_opcode("barrier.sync.aligned");
  ASSERT_EQ(bar.forms.size(), 1u);
  EXPECT_EQ(bar.forms, barrier.forms);
  EXPECT_EQ(bar.mods, barrier.mods);
  EXPECT_EQ(match_opcode("bar.warp.sync").forms.front()->form, Form::bar_warp_sync);
}

}  // namespace
}  // namespace fb::ptx
