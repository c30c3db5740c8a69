#include "judge/data/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "judge/data/elements.h"
#include "judge/sample_problem.h"

namespace fb::judge {
namespace {

using catalog::DType;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

// One tensor and what came out of it.
class Compare : public testing::Test {
 protected:
  std::optional<Mismatch> compared(DType type, const Expected& expected, const std::vector<double>& got,
                                   const std::vector<double>& poison = {}) {
    tensor_.dtype = type;
    const Layout::Slot slot{&tensor_, static_cast<int64_t>(got.size())};
    return compare(slot, 3, 1, expected, bytes(type, got),
                   bytes(type, poison.empty() ? std::vector<double>(got.size(), 99) : poison));
  }
  static std::vector<std::byte> bytes(DType type, const std::vector<double>& values) {
    std::vector<std::byte> all(values.size() * catalog::size_of(type));
    for (size_t i = 0; i < values.size(); ++i) write_element(type, all.data() + i * catalog::size_of(type), values[i]);
    return all;
  }
  bool accepts(double value, double bound, double got, DType type = DType::f64) {
    return !compared(type, {{value}, {bound}}, {got});
  }
  catalog::Tensor tensor_;
};

TEST_F(Compare, ABoundOfZeroIsExact) {
  EXPECT_TRUE(accepts(1, 0, 1));
  EXPECT_FALSE(accepts(1, 0, std::nextafter(1, 2)));
  EXPECT_FALSE(accepts(1, 0, std::nextafter(1, 0)));
  EXPECT_TRUE(accepts(0, 0, -0.0));
  EXPECT_TRUE(accepts(4294967295, 0, 4294967295, DType::u32));
  EXPECT_FALSE(accepts(4294967295, 0, 4294967294, DType::u32));
}

TEST_F(Compare, AtTheBoundIsRightAndJustBeyondIsWrong) {
  EXPECT_TRUE(accepts(2, 0.25, 2.25));
  EXPECT_TRUE(accepts(2, 0.25, 1.75));
  EXPECT_FALSE(accepts(2, 0.25, std::nextafter(2.25, 3)));
  EXPECT_FALSE(accepts(2, 0.25, std::nextafter(1.75, 1)));
  EXPECT_TRUE(accepts(1, 0x1p-8, 1 + 0x1p-8, DType::f32));
  EXPECT_FALSE(accepts(1, 0x1p-8, 1 + 0x1p-8 + 0x1p-23, DType::f32));
}

TEST_F(Compare, WhatIsNoNumberIsWrong) {
  EXPECT_FALSE(accepts(1, 0.5, kNan));
  EXPECT_FALSE(accepts(1, 1e300, kNan));
  EXPECT_FALSE(accepts(1, 1e300, kInfinity));
  EXPECT_FALSE(accepts(0, 0, kNan, DType::f16));
}

TEST_F(Compare, AnInfiniteBoundTakesAnything) {
  for (const double got : {0.0, 1e300, kNan, kInfinity, -kInfinity}) EXPECT_TRUE(accepts(1, kInfinity, got));
}

TEST_F(Compare, CountsAndPlacesWhatIsWrong) {
  const auto m = compared(DType::i32, {{0, 1, 2, 3, 4, 5}, {0, 0, 0, 0, 0, 0}}, {0, 7, 2, 99, 99, 5});
  ASSERT_TRUE(m);
  EXPECT_EQ(m->rank, 3);
  EXPECT_EQ(m->tensor, 1u);
  EXPECT_EQ(m->index, 1);
  EXPECT_EQ(m->last, 4);
  EXPECT_EQ(m->wrong, 3);
  EXPECT_EQ(m->elements, 6);
  EXPECT_EQ(m->poison, 2);
  EXPECT_EQ(m->expected, 1);
  EXPECT_EQ(m->got, 7);
}

TEST_F(Compare, PoisonThatHappensToBeRightIsRight) {
  EXPECT_FALSE(compared(DType::i32, {{4, 5}, {0, 0}}, {4, 5}, {4, 5}));
  const auto m = compared(DType::i32, {{4, 5}, {0, 0}}, {4, 6}, {4, 6});
  ASSERT_TRUE(m);
  EXPECT_EQ(m->poison, 1);
}

TEST_F(Compare, PoisonIsKnownByItsBits) {
  // NaN is not equal to itself, its bits are.
  const auto m = compared(DType::f32, {{1, 1}, {0, 0}}, {kNan, 2}, {kNan, 3});
  ASSERT_TRUE(m);
  EXPECT_EQ(m->wrong, 2);
  EXPECT_EQ(m->poison, 1);
}

// Two calls of an all-reduce over three ranks.
class Explain : public testing::Test {
 protected:
  static constexpr size_t kIn = 0, kOut = 1;

  std::vector<std::byte> right(const CallData& call) const {
    std::vector<std::byte> bytes(4 * call.expected(1, kOut).value.size());
    for (size_t i = 0; i < bytes.size() / 4; ++i)
      write_element(DType::f32, bytes.data() + 4 * i, call.expected(1, kOut).value[i]);
    return bytes;
  }
  // What is said of rank 1's output.
  std::string said(const std::vector<std::byte>& got, const CallData* before = nullptr) {
    const auto m = compare(layout_.at(1, kOut), 1, kOut, call_.expected(1, kOut), got, poison_);
    return m ? explain(*m, layout_, call_, before, got) : "right";
  }
  static std::vector<std::byte> bytes_of(std::span<const std::byte> span) { return {span.begin(), span.end()}; }
  static bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

  SampleProblem sample_{{.worlds = "3"}};
  Oracle oracle_ = sample_.oracle();
  Layout layout_{sample_.problem(), sample_.size(), 3};
  CallData before_{layout_, oracle_, 1, 0}, call_{layout_, oracle_, 2, 1};
  std::vector<std::byte> poison_ = std::vector<std::byte>(32, std::byte{0x5A});
};

TEST_F(Explain, TheRightAnswerNeedsNone) { EXPECT_EQ(said(right(call_)), "right"); }

TEST_F(Explain, SaysWhoNeverWrote) {
  const std::string text = said(poison_, &before_);
  EXPECT_TRUE(text.starts_with("out[0] on rank 1 is ")) << text;
  EXPECT_TRUE(has(text, "8 of 8 elements of `out` on rank 1 are wrong, from [0] to [7].")) << text;
  EXPECT_TRUE(has(text, "Rank 1 never wrote `out`")) << text;
}

TEST_F(Explain, SaysWhatPartWasNotWritten) {
  auto got = right(call_);
  std::copy(poison_.begin() + 20, poison_.end(), got.begin() + 20);
  const std::string text = said(got, &before_);
  EXPECT_TRUE(has(text, "3 of 8 elements of `out` on rank 1 are wrong, from [5] to [7].")) << text;
  EXPECT_TRUE(has(text, "The tail is missing: the last 3 of 8 elements were never written")) << text;
  EXPECT_FALSE(has(text, "never wrote")) << text;
}

TEST_F(Explain, KnowsTheResultOfTheCallBefore) {
  EXPECT_TRUE(has(said(right(before_), &before_), "These are the values of the call before."));
  EXPECT_FALSE(has(said(right(before_), nullptr), "call before"));
}

TEST_F(Explain, KnowsAnInput) {
  const std::string own = said(bytes_of(call_.input(1, kIn)), &before_);
  EXPECT_TRUE(has(own, "They are what `in` of rank 1 holds, its own input.")) << own;
  const std::string other = said(bytes_of(call_.input(2, kIn)), &before_);
  EXPECT_TRUE(has(other, "They are what `in` of rank 2 holds. Look at")) << other;
}

TEST_F(Explain, SaysWhereToLookWhenItKnowsNothing) {
  auto got = right(call_);
  write_element(DType::f32, got.data() + 16, 12345.5);
  const std::string text = said(got, &before_);
  EXPECT_TRUE(text.starts_with("out[4] on rank 1 is 12345.5, expected ")) << text;
  EXPECT_FALSE(has(text, " of 8 elements")) << "one element needs no range: " << text;
  EXPECT_TRUE(has(text, "Look at: ")) << text;
}

TEST_F(Explain, SummarizesInOneLine) {
  const Mismatch m{.rank = 2, .tensor = kOut, .index = 5, .expected = 4.25, .bound = 1e-6, .got = 3.5};
  EXPECT_EQ(summarize(m, layout_), "out[5] on rank 2 is 3.5, expected 4.25 (±1e-06)");
}

TEST(ExplainPositions, AreThoseOfTheShape) {
  const SampleProblem sample({.tensors = R"(
[[tensor]]
name = "in"
role = "in"
dtype = "f32"
shape = ["n"]
fill = "spread"
about = "in"
[[tensor]]
name = "out"
role = "out"
dtype = "f32"
shape = ["n", "world", "rank + 3"]
about = "out"
)"});
  const Layout layout(sample.problem(), sample.size(), 2);
  // 8 × 2 × 4 on rank 1.
  const Mismatch m{.rank = 1, .tensor = 1, .index = 3 * 8 + 1 * 4 + 2, .expected = 1, .got = 2};
  EXPECT_EQ(summarize(m, layout), "out[3, 1, 2] on rank 1 is 2, expected 1");
}

TEST(ExplainNumbers, HaveAllTheirDigits) {
  for (const auto& [dtype, text] : {std::pair{"u32", "out[0] on rank 0 is 4294967294, expected 4294967295"},
                                    std::pair{"f64", "out[0] on rank 0 is 4294967294, expected 4294967295"},
                                    std::pair{"u8", "out[0] on rank 0 is 4294967294, expected 4294967295"}}) {
    std::string tensors(kSumTensors);
    tensors.replace(tensors.rfind("f32"), 3, dtype);
    const SampleProblem sample({.tensors = tensors});
    const Layout layout(sample.problem(), sample.size(), 2);
    const Mismatch m{.tensor = 1, .expected = 4294967295, .got = 4294967294};
    EXPECT_EQ(summarize(m, layout), text);
  }
}

}  // namespace
}  // namespace fb::judge
