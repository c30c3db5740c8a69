#include "judge/data/call_data.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "judge/data/elements.h"
#include "judge/sample_problem.h"

namespace fb::judge {
namespace {

using catalog::DType;

std::vector<std::byte> filled(DType type, std::string fill, size_t elements, uint64_t seed) {
  catalog::Tensor tensor;
  tensor.dtype = type;
  tensor.fill = std::move(fill);
  std::vector<std::byte> bytes(elements * catalog::size_of(type));
  fill_tensor(tensor, bytes, seed);
  return bytes;
}

std::vector<double> numbers(DType type, const std::string& fill, size_t elements, uint64_t seed = 1) {
  const auto bytes = filled(type, fill, elements, seed);
  std::vector<double> values;
  for (size_t i = 0; i < elements; ++i) values.push_back(read_element(type, bytes.data() + i * catalog::size_of(type)));
  return values;
}

TEST(Fill, TheSameSeedGivesTheSameBytes) {
  for (const char* fill : {"spread", "unit", "integers", "bits", "none"}) {
    EXPECT_EQ(filled(DType::f32, fill, 100, 7), filled(DType::f32, fill, 100, 7)) << fill;
    EXPECT_NE(filled(DType::f32, fill, 100, 7), filled(DType::f32, fill, 100, 8)) << fill;
  }
}

TEST(Fill, IntegersAreAllWholeNumbersFromMinus8To8) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::i64}) {
    const auto values = numbers(type, "integers", 2000);
    const std::set<double> seen(values.begin(), values.end());
    EXPECT_EQ(seen.size(), 17u) << catalog::name_of(type);
    EXPECT_EQ(*seen.begin(), -8) << catalog::name_of(type);
    EXPECT_EQ(*seen.rbegin(), 8) << catalog::name_of(type);
    for (const double value : seen) EXPECT_EQ(value, std::floor(value));
  }
}

TEST(Fill, SpreadHasManyMagnitudesAndBothSigns) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    std::set<int> exponents;
    int negative = 0;
    for (const double value : numbers(type, "spread", 2000)) {
      EXPECT_GE(std::fabs(value), 0x1p-4);
      EXPECT_LE(std::fabs(value), 0x1p5);
      exponents.insert(std::ilogb(value));
      negative += value < 0;
    }
    EXPECT_GE(exponents.size(), 9u) << catalog::name_of(type);
    EXPECT_GT(negative, 800);
    EXPECT_LT(negative, 1200);
  }
}

TEST(Fill, UnitIsBetweenMinus1And1) {
  double least = 1, most = -1;
  for (const double value : numbers(DType::f64, "unit", 2000)) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  EXPECT_GE(least, -1);
  EXPECT_LT(least, -0.99);
  EXPECT_LT(most, 1);
  EXPECT_GT(most, 0.99);
}

TEST(Fill, BitsFillEveryByteWhateverTheLength) {
  for (const size_t length : {1u, 3u, 7u, 8u, 9u, 1023u}) {
    // A byte that is 0 at a thousand seeds is one that is never written.
    std::vector<int> zero(length, 0);
    for (uint64_t seed = 0; seed < 1000; ++seed) {
      const auto bytes = filled(DType::u8, "bits", length, seed);
      for (size_t i = 0; i < length; ++i) zero[i] += bytes[i] == std::byte{0};
    }
    for (size_t i = 0; i < length; ++i) EXPECT_LT(zero[i], 100) << "byte " << i << " of " << length;
  }
}

double through(DType type, double value) {
  std::array<std::byte, 8> bytes{};
  write_element(type, bytes.data(), value);
  return read_element(type, bytes.data());
}

TEST(Element, EveryBitPatternOfTheSmallFloatsComesBack) {
  for (const DType type : {DType::f16, DType::bf16}) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      std::array<std::byte, 2> before, after;
      const auto word = static_cast<uint16_t>(bits);
      std::memcpy(before.data(), &word, sizeof word);
      const double value = read_element(type, before.data());
      if (std::isnan(value)) continue;
      write_element(type, after.data(), value);
      ASSERT_EQ(before, after) << catalog::name_of(type) << " " << std::hex << bits;
    }
  }
}

TEST(Element, EveryFormatKeepsItsExtremes) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    for (const double value : {0.0, 1.0, -1.5, 0x1p-14, 248.0, inf, -inf})
      EXPECT_EQ(through(type, value), value) << catalog::name_of(type);
    EXPECT_TRUE(std::signbit(through(type, -0.0))) << catalog::name_of(type);
  }
  EXPECT_EQ(through(DType::f32, 0x1.fffffep127), 0x1.fffffep127);
  EXPECT_EQ(through(DType::f64, 0x1.fffffffffffffp1023), 0x1.fffffffffffffp1023);
  EXPECT_EQ(through(DType::i32, -0x1p31), -0x1p31);
  EXPECT_EQ(through(DType::i32, 0x1p31 - 1), 0x1p31 - 1);
  EXPECT_EQ(through(DType::u32, 0x1p32 - 1), 0x1p32 - 1);
  EXPECT_EQ(through(DType::i64, -0x1p63), -0x1p63);
  EXPECT_EQ(through(DType::i64, 0x1p53 - 1), 0x1p53 - 1);
  EXPECT_EQ(through(DType::u64, 0x1p64 - 2048), 0x1p64 - 2048);
  EXPECT_EQ(through(DType::u64, 0x1p53 - 1), 0x1p53 - 1);
  EXPECT_EQ(through(DType::u8, 255), 255);
}

TEST(Element, TiesGoToTheEvenNeighbour) {
  // bf16 has 8 bits of precision, f16 has 11.
  EXPECT_EQ(through(DType::bf16, 1 + 0x1p-8), 1);
  EXPECT_EQ(through(DType::bf16, 1 + 3 * 0x1p-8), 1 + 4 * 0x1p-8);
  EXPECT_EQ(through(DType::bf16, -(1 + 0x1p-8)), -1);
  EXPECT_EQ(through(DType::f16, 1 + 0x1p-11), 1);
  EXPECT_EQ(through(DType::f16, 1 + 3 * 0x1p-11), 1 + 4 * 0x1p-11);
  EXPECT_EQ(through(DType::f16, 0x1p-25), 0) << "half of the smallest number";
  EXPECT_EQ(through(DType::f32, 1 + 0x1p-24), 1);
  EXPECT_EQ(through(DType::f32, 1 + 3 * 0x1p-24), 1 + 4 * 0x1p-24);
}

TEST(Element, WhatIsNearlyATieIsNone) {
  // A rounding to float on the way would make a tie of these.
  EXPECT_EQ(through(DType::bf16, 1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7);
  EXPECT_EQ(through(DType::bf16, 1 + 3 * 0x1p-8 - 0x1p-40), 1 + 0x1p-7);
  EXPECT_EQ(through(DType::f16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(through(DType::f16, -(1 + 3 * 0x1p-11 - 0x1p-40)), -(1 + 0x1p-10));
}

TEST(Layout, ShapesMayDependOnTheRank) {
  const SampleProblem sample({.tensors = R"(
[[tensor]]
name = "in"
role = "in"
dtype = "bf16"
shape = ["n + rank", "2"]
fill = "spread"
about = "in"
[[tensor]]
name = "out"
role = "out"
dtype = "f64"
shape = ["world"]
device = "rank % 2"
about = "out"
)",
                              .worlds = "3"});
  const Layout layout(sample.problem(), sample.size(), 3);
  ASSERT_EQ(layout.ranks.size(), 3u);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(layout.at(rank, 0).elements, 2 * (8 + rank));
    EXPECT_EQ(layout.at(rank, 0).bytes(), 4u * (8 + static_cast<unsigned>(rank)));
    EXPECT_EQ(layout.at(rank, 1).elements, 3);
    EXPECT_EQ(layout.at(rank, 1).bytes(), 24u);
    EXPECT_EQ(layout.device(rank, 0), -1);
    EXPECT_EQ(layout.device(rank, 1), rank % 2);
  }
}

class Calls : public testing::Test {
 protected:
  SampleProblem sample_;
  Oracle oracle_ = sample_.oracle();
  Layout layout_{sample_.problem(), sample_.size(), 2};
};

std::vector<std::byte> bytes_of(std::span<const std::byte> span) { return {span.begin(), span.end()}; }

TEST_F(Calls, AreAFunctionOfTheSeed) {
  const CallData one(layout_, oracle_, 5, 0), again(layout_, oracle_, 5, 0), other(layout_, oracle_, 6, 0);
  EXPECT_EQ(bytes_of(one.input(0, 0)), bytes_of(again.input(0, 0)));
  EXPECT_EQ(one.expected(0, 1).value, again.expected(0, 1).value);
  EXPECT_NE(bytes_of(one.input(0, 0)), bytes_of(other.input(0, 0)));
  EXPECT_NE(one.expected(0, 1).value, other.expected(0, 1).value);
}

TEST_F(Calls, GiveEachRankItsOwnInput) {
  const CallData call(layout_, oracle_, 5, 0);
  EXPECT_NE(bytes_of(call.input(0, 0)), bytes_of(call.input(1, 0)));
}

TEST_F(Calls, ExpectOfAReplicatedOutputTheSameOnAllRanks) {
  const CallData call(layout_, oracle_, 5, 0);
  EXPECT_EQ(&call.expected(0, 1), &call.expected(1, 1));
  ASSERT_EQ(call.expected(1, 1).value.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    double sum = 0;
    for (int rank = 0; rank < 2; ++rank) sum += read_element(DType::f32, call.input(rank, 0).data() + 4 * i);
    EXPECT_DOUBLE_EQ(call.expected(1, 1).value[i], sum);
    EXPECT_GT(call.expected(1, 1).bound[i], 0);
    EXPECT_LT(call.expected(1, 1).bound[i], 1e-4);
  }
}

TEST_F(Calls, ExpectAgainWhatAChangedInputGives) {
  CallData call(layout_, oracle_, 5, 0);
  const auto before = call.expected(0, 1).value;
  write_element(DType::f32, call.writable_input(1, 0).data() + 12, 1000);
  call.expect_again(oracle_);
  for (size_t i = 0; i < 8; ++i) {
    if (i == 3) {
      EXPECT_GT(call.expected(0, 1).value[i], 900);
    } else {
      EXPECT_EQ(call.expected(0, 1).value[i], before[i]);
    }
  }
}

TEST(CallsOfSeveralInputs, AreDrawnApart) {
  const SampleProblem sample({.tensors = R"(
[[tensor]]
name = "a"
role = "in"
dtype = "u32"
shape = ["n"]
fill = "bits"
about = "a"
[[tensor]]
name = "b"
role = "in"
dtype = "u32"
shape = ["n"]
fill = "bits"
about = "b"
[[tensor]]
name = "out"
role = "out"
dtype = "u32"
shape = ["n"]
about = "out"
)"});
  const SampleProblem with_oracle({.oracle = R"(
void fill(Case& c) { c.input<uint32_t>("b", 1)[2] = 77 + static_cast<uint32_t>(c.call()); }
void expect(Case& c) {
  for (int r = 0; r < c.world(); ++r)
    for (int64_t i = 0; i < c["n"]; ++i) c.output("out", r).set(i, c.input<uint32_t>("b", r)[static_cast<size_t>(i)]);
}
FABRICBENCH_ORACLE(expect, fill)
)"});
  catalog::Problem problem = sample.problem();
  problem.oracle = with_oracle.problem().oracle;
  const auto oracle = Oracle::load(problem);
  ASSERT_TRUE(oracle);
  const Layout layout(problem, problem.sizes[0], 2);
  const CallData call(layout, *oracle, 3, 4);
  EXPECT_NE(bytes_of(call.input(0, 0)), bytes_of(call.input(0, 1)));
  EXPECT_EQ(read_element(DType::u32, call.input(1, 1).data() + 8), 81) << "the oracle's fill comes after the judge's";
  EXPECT_EQ(call.expected(1, 2).value[2], 81);
  EXPECT_NE(call.expected(0, 2).value, call.expected(1, 2).value);
}

// Sets every element to what an expression over i says.
std::string sets(const std::string& arguments) {
  return "Output out = c.output(\"out\"); for (int64_t i = 0; i < c[\"n\"]; ++i) out.set(i, " + arguments + ");";
}

TEST(OracleThatIsBroken, SaysNothingFinite) {
  const auto complaints = complaints_of(
      {"Output out = c.output(\"out\"); for (int64_t i = 0; i < c[\"n\"]; ++i) if (i != 5) out.set(i, 1);",
       sets("i == 2 ? std::nan(\"\") : 0"), sets("1.0 / 0.0"), sets("1, std::nan(\"\")"),
       "Output out = c.output(\"out\"); for (int64_t i = 0; i < c[\"n\"]; ++i) out.ignore(i);"});
  EXPECT_EQ(complaints[0], "the oracle of sample says nothing finite of out[5] on rank 0") << "it left it out";
  EXPECT_EQ(complaints[1], "the oracle of sample says nothing finite of out[2] on rank 0");
  EXPECT_EQ(complaints[2], "the oracle of sample says nothing finite of out[0] on rank 0");
  EXPECT_EQ(complaints[3], "the oracle of sample says nothing finite of out[0] on rank 0");
  EXPECT_EQ(complaints[4], "") << "what is ignored is said";
}

TEST(OracleThatIsBroken, ExpectsMoreBitsThanADoubleHas) {
  std::string tensors(kSumTensors);
  tensors.replace(tensors.rfind("f32"), 3, "i64");
  const auto complaints = complaints_of({sets("9007199254740991.0"), sets("-9007199254740992.0")}, tensors);
  EXPECT_EQ(complaints[0], "");
  EXPECT_EQ(complaints[1], "the oracle of sample says a number of more than 53 bits of out[0] on rank 0");
}

}  // namespace
}  // namespace fb::judge
