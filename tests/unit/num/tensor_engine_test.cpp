// Engines of tensor cores give the same bits, whatever the bits of their factors.

#include "virtual_node/num/tensor/tensor_engine.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>

namespace fb::num::tensor {
namespace {

constexpr uint32_t kTiles = 10'000;
constexpr uint32_t kSeed = 1;

struct Case {
  Element a, b;
  uint32_t words;
};

constexpr Case kCases[] = {
    {Element::bf16, Element::bf16, 8}, {Element::bf16, Element::bf16, 4},
    {Element::f16, Element::f16, 8},   {Element::f16, Element::f16, 4},
    {Element::tf32, Element::tf32, 8}, {Element::tf32, Element::tf32, 4},
    {Element::e4m3, Element::e5m2, 8}, {Element::e5m2, Element::e4m3, 4},
    {Element::e3m2, Element::e2m3, 8}, {Element::e2m1, Element::e4m3, 8},
    {Element::s8, Element::s8, 8},     {Element::u8, Element::s8, 8},
    {Element::s8, Element::u8, 4},     {Element::u8, Element::u8, 8},
    {Element::s4, Element::u4, 8},     {Element::u4, Element::s4, 4},
    {Element::f32, Element::f32, 64},  {Element::packed_e2m1, Element::packed_e2m1, 8},
};

// Words of one flavour: all bits random (NaNs and infinities among them), tame numbers, tiny ones, and zeros of both
// signs.
class RandomWords {
 public:
  explicit RandomWords(uint32_t seed) : random_(seed) {}

  uint32_t next(Element e) {
    const auto bits = static_cast<uint32_t>(random_());
    switch (flavour_) {
      case 0:
        return bits;
      case 1:
        return tame(e, bits, 0);
      case 2:
        return tame(e, bits, 60);
      default:
        return bits & (bits << 1) & 0x80808080;
    }
  }
  void choose_flavour() { flavour_ = static_cast<uint32_t>(random_() % 4); }

 private:
  static uint32_t tame(Element e, uint32_t bits, uint32_t smaller) {
    const auto exponent = [&](uint32_t b) { return 120 - smaller + b % 12; };
    if (e == Element::f32 || e == Element::tf32) return (bits & 0x807fffff) | exponent(bits >> 8) << 23;
    if (e == Element::bf16) return (bits & 0x807f807f) | exponent(bits >> 20) << 23 | exponent(bits) << 7;
    if (e == Element::f16) return smaller != 0 ? bits & 0x83ff83ff : bits & 0xbfffbfff;
    return bits;
  }

  std::mt19937 random_;
  uint32_t flavour_ = 0;
};

struct Fragments {
  uint32_t words[32][kThreads];
  const uint32_t* rows[32];

  Fragments() {
    for (int r = 0; r < 32; ++r) rows[r] = words[r];
  }
  void fill(RandomWords& random, Element e) {
    random.choose_flavour();
    for (auto& row : words) {
      for (uint32_t& w : row) w = random.next(e);
    }
  }
};

uint32_t canonical_bits(float x) { return std::isnan(x) ? 0x7fffffff : std::bit_cast<uint32_t>(x); }

void expect_same(const Sums& wanted, const Sums& got, const Engine& engine, const Case& c) {
  for (uint32_t r = 0; r < 4; ++r) {
    for (uint32_t l = 0; l < kThreads; ++l) {
      ASSERT_EQ(canonical_bits(wanted.values[r][l]), canonical_bits(got.values[r][l]))
          << engine.name << ", elements " << static_cast<int>(c.a) << " and " << static_cast<int>(c.b) << ", "
          << c.words << " words, register " << r << ", thread " << l;
    }
  }
}

Sums multiply(const Engine& engine, const Case& c, const Fragments& a, const Fragments& b) {
  static Factor fa, fb;
  Sums sums;
  engine.prepare_a(c.a, c.words, a.rows, fa);
  engine.prepare_b(c.b, c.words, b.rows, fb);
  engine.multiply(fa, fb, sums);
  return sums;
}

TEST(TensorEngine, AllEnginesGiveTheSameBits) {
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  RandomWords random(kSeed);
  Fragments a, b;
  const Engine& portable = *engines().back();
  for (uint32_t k = 0; k < kTiles; ++k) {
    const Case& c = kCases[k % std::size(kCases)];
    a.fill(random, c.a);
    b.fill(random, c.b);
    const Sums wanted = multiply(portable, c, a, b);
    for (const Engine* engine : engines()) {
      expect_same(wanted, multiply(*engine, c, a, b), *engine, c);
      if (HasFatalFailure()) return;
    }
  }
}

// Pairs that share factors, plain and tiny ones, more than an engine has under way at once.
TEST(TensorEngine, ManyProductsAreEachAsIfAlone) {
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  constexpr uint32_t kFactors = 4, kPairs = kFactors * kFactors;
  RandomWords random(kSeed);
  std::vector<Fragments> a(kFactors), b(kFactors);
  std::vector<Factor> fa(kFactors), fb(kFactors);
  for (uint32_t round = 0; round < 10 * std::size(kCases); ++round) {
    const Case& c = kCases[round % std::size(kCases)];
    for (uint32_t k = 0; k < kFactors; ++k) {
      a[k].fill(random, c.a);
      b[k].fill(random, c.b);
    }
    for (const Engine* engine : engines()) {
      const Factor *as[kPairs], *bs[kPairs];
      std::vector<Sums> sums(kPairs);
      for (uint32_t k = 0; k < kFactors; ++k) {
        engine->prepare_a(c.a, c.words, a[k].rows, fa[k]);
        engine->prepare_b(c.b, c.words, b[k].rows, fb[k]);
      }
      for (uint32_t k = 0; k < kPairs; ++k) {
        as[k] = &fa[k / kFactors];
        bs[k] = &fb[k % kFactors];
      }
      engine->multiply_many(as, bs, sums.data(), kPairs);
      for (uint32_t k = 0; k < kPairs; ++k) {
        expect_same(multiply(*engines().back(), c, a[k / kFactors], b[k % kFactors]), sums[k], *engine, c);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(TensorEngine, DoublesAreAddedInOrderByEveryEngine) {
  std::mt19937_64 random(2);
  double a[16 * 16], b[16 * 8], c[16 * 8];
  for (double& x : a) x = std::ldexp(static_cast<double>(random() % 1000) - 500, static_cast<int>(random() % 60) - 30);
  for (double& x : b) x = std::ldexp(static_cast<double>(random() % 1000) - 500, static_cast<int>(random() % 60) - 30);
  for (double& x : c) x = static_cast<double>(random());
  double wanted[16 * 8];
  std::memcpy(wanted, c, sizeof c);
  for (uint32_t m = 0; m < 16; ++m) {
    for (uint32_t n = 0; n < 8; ++n) {
      for (uint32_t k = 0; k < 16; ++k) wanted[m * 8 + n] = std::fma(a[m * 16 + k], b[k * 8 + n], wanted[m * 8 + n]);
    }
  }
  for (const Engine* engine : engines()) {
    double d[16 * 8];
    std::memcpy(d, c, sizeof c);
    engine->multiply_f64(a, b, d, 16, 16);
    EXPECT_EQ(0, std::memcmp(d, wanted, sizeof d)) << engine->name;
  }
}

TEST(TensorEngine, EnginesAreChosenByName) {
  for (const Engine* e : engines()) {
    EXPECT_TRUE(use_engine(e->name));
    EXPECT_EQ(&engine(), e);
  }
  EXPECT_FALSE(use_engine("abacus"));
  EXPECT_TRUE(use_engine(""));
  EXPECT_EQ(&engine(), engines().front());
}

TEST(TensorEngineDeathTest, AnUnknownNameInTheEnvironmentIsAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto ask = [] {
    setenv("FABRICBENCH_TENSOR", "abacus", 1);
    try {
      engine();
    } catch (const std::invalid_argument& e) {
      std::fputs(e.what(), stderr);
      std::_Exit(3);
    }
  };
  EXPECT_EXIT(ask(), ::testing::ExitedWithCode(3), "FABRICBENCH_TENSOR.*abacus; there are .*portable");
}

}  // namespace
}  // namespace fb::num::tensor
