#include "judge/data/differences.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "judge/data/compare.h"
#include "judge/data/elements.h"
#include "judge/sample_problem.h"

namespace fb::judge {
namespace {

using catalog::DType;

std::string tensors_of(const char* in, const char* in_shape, const char* out, const char* out_shape) {
  return fmt::format(
      "[[tensor]]\nname = \"in\"\nrole = \"in\"\ndtype = \"{}\"\nshape = [{}]\nfill = \"spread\"\nabout = \"a\"\n"
      "[[tensor]]\nname = \"out\"\nrole = \"out\"\ndtype = \"{}\"\nshape = [{}]\nabout = \"b\"\n",
      in, in_shape, out, out_shape);
}

// A problem, two calls, and the output of rank 1 as a test builds it.
class Case {
 public:
  explicit Case(const Sample& sample, int world = 4)
      : sample_(sample), oracle_(sample_.oracle()), layout_(sample_.problem(), sample_.size(), world) {}

  size_t size() const { return call_.expected(1, kOut).value.size(); }
  double right(size_t i) const { return call_.expected(1, kOut).value[i]; }
  double right_of(int rank, size_t i) const { return call_.expected(rank, kOut).value[i]; }
  double before(size_t i) const { return before_.expected(1, kOut).value[i]; }
  double in(int rank, size_t i) const { return read(call_, rank, i); }
  double in_before(int rank, size_t i) const { return read(before_, rank, i); }
  int world() const { return layout_.world; }

  // Name of the first detector with evidence, and what it says; "right" where nothing is wrong.
  std::string look(const std::function<double(size_t)>& value, std::string* text = nullptr) const {
    const DType type = layout_.problem->tensors[kOut].dtype;
    std::vector<std::byte> got(size() * catalog::size_of(type)), poison(got.size(), std::byte{0x5A});
    for (size_t i = 0; i < size(); ++i) {
      std::byte* at = got.data() + i * catalog::size_of(type);
      write_element(type, at, value(i));
      if (std::isinf(value(i))) std::copy_n(poison.begin(), catalog::size_of(type), at);  // stands for: not written
    }
    const auto m = compare(layout_.at(1, kOut), 1, kOut, call_.expected(1, kOut), got, poison);
    if (!m) return "right";
    std::string said;
    const Detector* detector = first_detector({*m, layout_, call_, &before_, got}, said);
    if (text != nullptr) *text = said;
    return detector == nullptr ? "none" : std::string(detector->name);
  }
  static constexpr double kUnwritten = INFINITY;

 private:
  static constexpr size_t kIn = 0, kOut = 1;
  double read(const CallData& call, int rank, size_t i) const {
    const DType type = layout_.problem->tensors[kIn].dtype;
    return read_element(type, call.input(rank, kIn).data() + i * catalog::size_of(type));
  }

  SampleProblem sample_;
  Oracle oracle_;
  Layout layout_;
  CallData before_{layout_, oracle_, 0x123456789, 0}, call_{layout_, oracle_, 0xFEDCBA98765, 1};
};

constexpr const char* kSizes = "[[size]]\nname = \"some\"\nn = 64\nquick = true\ntimed = true\n";

constexpr const char* kOracle = R"(
void expect(Case& c) {
  for (int r = 0; r < c.world(); ++r) {
    Output out = c.output("out", r);
    for (int64_t i = 0; i < c["n"]; ++i) {
      double sum = 0;
      for (int k = 0; k < c.world(); ++k) sum += c.input<float>("in", k)[static_cast<size_t>(i)];
      out.set(i, sum, 1e-6);
    }
  }
}
FABRICBENCH_ORACLE(expect)
)";

// out = sum of all ranks' in.
Sample sum_of(const char* in, const char* out) {
  static std::vector<std::string> kept;
  kept.push_back(tensors_of(in, "\"n\"", out, "\"n\""));
  return {.oracle = kOracle, .tensors = kept.back(), .worlds = "4", .sizes = kSizes};
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

double as(DType type, double value) {
  std::array<std::byte, 8> bytes;
  write_element(type, bytes.data(), value);
  return read_element(type, bytes.data());
}

class Differences : public testing::Test {
 protected:
  const Case sum_{sum_of("f32", "f32")};
  std::string text_;
};

TEST_F(Differences, NaNIsArithmetic) {
  EXPECT_EQ(sum_.look([&](size_t i) { return i % 3 == 0 ? NAN : sum_.right(i); }, &text_), "no number");
  EXPECT_TRUE(has(text_, "arithmetic")) << text_;
  EXPECT_EQ(sum_.look([&](size_t i) { return i == 7 ? NAN : i == 9 ? 12345.5 : sum_.right(i); }), "none");
}

constexpr const char* kCodes = R"(
void expect(Case& c) {
  for (int r = 0; r < c.world(); ++r) {
    Output out = c.output("out", r);
    for (int64_t i = 0; i < c["n"]; ++i) out.set(i, static_cast<double>(i * i * 7 % 97 + 20), 0);
  }
}
FABRICBENCH_ORACLE(expect)
)";

TEST(DifferencesOfCodes, FewThatAreOffByOneAreArithmetic) {
  const std::string tensors = tensors_of("f32", "\"n\"", "i32", "\"n\"");
  const Case codes({.oracle = kCodes, .tensors = tensors, .worlds = "4", .sizes = kSizes});
  std::string text;
  EXPECT_EQ(codes.look([&](size_t i) { return codes.right(i) + (i == 7 ? 1 : i == 40 ? -1 : 0); }, &text), "next code");
  EXPECT_TRUE(has(text, "This is no synchronisation")) << text;
  EXPECT_EQ(codes.look([&](size_t i) { return codes.right(i) + (i == 7 ? 2 : 0); }), "none");
  EXPECT_NE(codes.look([&](size_t i) { return codes.right(i) + 1; }), "next code") << "all of them";
}

TEST_F(Differences, NoneClaimsWithoutEvidence) {
  EXPECT_EQ(sum_.look([&](size_t i) { return sum_.right(i); }), "right");
  EXPECT_EQ(sum_.look([&](size_t i) { return i == 7 ? 12345.5 : sum_.right(i); }), "none");
  EXPECT_EQ(sum_.look([&](size_t i) { return std::sin(static_cast<double>(i) * 7.3) * 5; }), "none");
}

TEST_F(Differences, WhatWasNeverWritten) {
  EXPECT_EQ(sum_.look([&](size_t) { return Case::kUnwritten; }, &text_), "never written");
  EXPECT_TRUE(has(text_, "Rank 1 never wrote `out`")) << text_;
  EXPECT_EQ(sum_.look([&](size_t i) { return i < 61 ? sum_.right(i) : Case::kUnwritten; }, &text_), "never written");
  EXPECT_TRUE(has(text_, "The tail is missing: the last 3 of 64")) << text_;
  EXPECT_EQ(sum_.look([&](size_t i) { return i % 4 != 1 ? sum_.right(i) : Case::kUnwritten; }, &text_),
            "never written");
  EXPECT_TRUE(has(text_, "16 of them were never written")) << text_;
}

TEST_F(Differences, TheCallBefore) {
  EXPECT_NE(sum_.before(0), sum_.right(0));
  EXPECT_EQ(sum_.look([&](size_t i) { return sum_.before(i); }), "call before");
  EXPECT_EQ(sum_.look([&](size_t i) { return i < 32 ? sum_.before(i) : sum_.right(i); }), "call before");
}

TEST_F(Differences, ZeroAndSign) {
  EXPECT_EQ(sum_.look([&](size_t i) { return i < 9 ? 0 : sum_.right(i); }, &text_), "zero");
  EXPECT_TRUE(has(text_, "a release before it is set")) << text_;
  EXPECT_EQ(sum_.look([&](size_t i) { return -sum_.right(i); }), "sign");
}

TEST_F(Differences, InputOfOneRank) {
  EXPECT_EQ(sum_.look([&](size_t i) { return sum_.in(1, i); }, &text_), "one rank's input");
  EXPECT_TRUE(has(text_, "its own input")) << text_;
  EXPECT_EQ(sum_.look([&](size_t i) { return sum_.in(3, i); }, &text_), "one rank's input");
  EXPECT_TRUE(has(text_, "`in` of rank 3")) << text_;
}

TEST_F(Differences, Contributions) {
  EXPECT_EQ(sum_.look([&](size_t i) { return sum_.right(i) - sum_.in(2, i); }, &text_), "contribution");
  EXPECT_TRUE(has(text_, "is missing: they are the sum without `in` of rank 2")) << text_;
  EXPECT_EQ(sum_.look([&](size_t i) { return sum_.right(i) + sum_.in(1, i); }, &text_), "contribution");
  EXPECT_TRUE(has(text_, "counted twice: they are the sum plus `in` of rank 1")) << text_;
  EXPECT_EQ(sum_.look([&](size_t i) { return sum_.right(i) - sum_.in(0, i) + sum_.in_before(0, i); }, &text_),
            "contribution");
  EXPECT_TRUE(has(text_, "rank 0 is stale")) << text_;
}

TEST_F(Differences, Factors) {
  EXPECT_EQ(sum_.look([&](size_t i) { return sum_.right(i) / 4; }, &text_), "scaled");
  EXPECT_TRUE(has(text_, "a mean where a sum is expected")) << text_;
  EXPECT_EQ(sum_.look([&](size_t i) { return sum_.right(i) * 4; }, &text_), "scaled");
  EXPECT_TRUE(has(text_, "a sum where a mean is expected")) << text_;
  EXPECT_EQ(sum_.look([&](size_t i) { return sum_.right(i) * 2; }, &text_), "scaled");
  EXPECT_TRUE(has(text_, "counted twice")) << text_;
}

TEST_F(Differences, RoundingOfASum) {
  const auto add_in = [&](DType type, size_t i, int first) {
    double sum = as(type, sum_.in(first, i));
    for (int k = 1; k < 4; ++k) sum = as(type, sum + as(type, sum_.in((first + k) % 4, i)));
    return sum;
  };
  EXPECT_EQ(sum_.look([&](size_t i) { return add_in(DType::bf16, i, 0); }, &text_), "rounding of a sum");
  EXPECT_TRUE(has(text_, "accumulated in bf16")) << text_;
  EXPECT_EQ(sum_.look([&](size_t i) { return add_in(DType::f16, i, 2); }, &text_), "rounding of a sum");
  EXPECT_TRUE(has(text_, "accumulated in fp16")) << text_;
  const auto rounded_first = [&](size_t i) {
    double sum = 0;
    for (int k = 0; k < 4; ++k) sum += as(DType::bf16, sum_.in(k, i));
    return sum;
  };
  EXPECT_EQ(sum_.look(rounded_first, &text_), "rounding of a sum");
  EXPECT_TRUE(has(text_, "rounded before the sum")) << text_;
}

TEST_F(Differences, OtherRounding) {
  EXPECT_EQ(sum_.look([&](size_t i) { return sum_.right(i) * (i % 2 == 0 ? 1.001 : 0.9995); }, &text_), "rounding");
  EXPECT_TRUE(has(text_, "This is no synchronisation")) << text_;
  EXPECT_TRUE(has(text_, "ulp of f32")) << text_;
}

TEST_F(Differences, Shifted) {
  const auto by_one = [&](size_t i) { return sum_.right(std::min<size_t>(i + 1, 63)); };
  EXPECT_EQ(sum_.look(by_one, &text_), "shifted");
  EXPECT_TRUE(has(text_, "element i holds what belongs in element i + 1")) << text_;
}

TEST_F(Differences, Chunks) {
  EXPECT_EQ(sum_.look([&](size_t i) { return sum_.right((i + 16) % 64); }, &text_), "permuted chunks");
  EXPECT_TRUE(has(text_, "off by one: chunk 0 of 4 holds what belongs in chunk 1")) << text_;
  const auto swapped = [&](size_t i) { return sum_.right(i / 16 == 0 ? i + 48 : i / 16 == 3 ? i - 48 : i); };
  EXPECT_EQ(sum_.look(swapped, &text_), "permuted chunks");
  EXPECT_TRUE(has(text_, "The chunks are permuted: of 4 chunks, chunk 0 holds what belongs in chunk 3")) << text_;
}

constexpr const char* kCopyOracle = R"(
void expect(Case& c) {
  for (int r = 0; r < c.world(); ++r) {
    Output out = c.output("out", r);
    for (int64_t i = 0; i < c["n"]; ++i)
      out.set(i, static_cast<float>(3 * c.input<float>("in", (r + 1) % c.world())[static_cast<size_t>(i)] + 1), 0);
  }
}
FABRICBENCH_ORACLE(expect)
)";

// out of rank r = 3 × in of the next rank + 1, in rows and columns.
TEST(DifferencesOfCopies, OtherRanksAndTransposed) {
  const std::string tensors = tensors_of("f32", "\"n / 16\", \"16\"", "f32", "\"n / 16\", \"16\"");
  const Case copy({.oracle = kCopyOracle,
                   .tensors = tensors,
                   .worlds = "4",
                   .sizes = "[[size]]\nname = \"some\"\nn = 128\nquick = true\ntimed = true\n"});
  std::string text;
  EXPECT_EQ(copy.look([&](size_t i) { return copy.right_of(2, i); }, &text), "another rank's output");
  EXPECT_TRUE(has(text, "what `out` of rank 2 should hold")) << text;
  EXPECT_EQ(copy.look([&](size_t i) { return copy.right((i % 8) * 16 + i / 8); }, &text), "transposed");
  EXPECT_TRUE(has(text, "16 × 8 where 8 × 16 is expected")) << text;
  const auto with_eps = [&](size_t i) { return copy.right(i) * (1.05 + 0.02 * static_cast<double>(i / 16)); };
  EXPECT_EQ(copy.look(with_eps, &text), "factor of rows");
  EXPECT_TRUE(has(text, "eps inside the root or outside")) << text;
}

TEST(UlpBetween, CountsTheNumbersOfTheFormat) {
  EXPECT_EQ(ulp_between(DType::f32, 1, 1), 0u);
  EXPECT_EQ(ulp_between(DType::f32, 1, 1 + 0x1p-23), 1u);
  EXPECT_EQ(ulp_between(DType::bf16, 1, 1 + 0x1p-6), 2u);
  EXPECT_EQ(ulp_between(DType::f16, -1, -1 - 0x1p-10), 1u);
  EXPECT_EQ(ulp_between(DType::f64, 0, -0.0), 0u);
  EXPECT_EQ(ulp_between(DType::f32, -0x1p-149, 0x1p-149), 2u);
  EXPECT_FALSE(ulp_between(DType::f32, NAN, 1));
  EXPECT_FALSE(ulp_between(DType::u32, 2, 1));
}

}  // namespace
}  // namespace fb::judge
