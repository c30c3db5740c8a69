#include "virtual_node/num/bit_ops.h"

#include <gtest/gtest.h>

#include "common/base/rng.h"

namespace fb::num {
namespace {

TEST(BitOps, ShiftsClampToTheWidth) {
  EXPECT_EQ(shl(1u, 31), 0x80000000u);
  EXPECT_EQ(shl(1u, 32), 0u);
  EXPECT_EQ(shl(~uint64_t{0}, 64), 0u);
  EXPECT_EQ(shl(uint16_t{0xffff}, 16), 0);
  EXPECT_EQ(shl(~0u, 0xffffffffu), 0u);
  EXPECT_EQ(shr(0x80000000u, 31), 1u);
  EXPECT_EQ(shr(0x80000000u, 32), 0u);
  EXPECT_EQ(shr(int32_t{-8}, 1), -4);
  EXPECT_EQ(shr(int32_t{-8}, 77), -1);
  EXPECT_EQ(shr(int32_t{8}, 77), 0);
  EXPECT_EQ(shr(INT64_MIN, 63), -1);
  EXPECT_EQ(shr(int16_t{-32768}, 15), -1);
}

TEST(BitOps, FunnelShifts) {
  constexpr uint32_t kLow = 0x89abcdefu;
  constexpr uint32_t kHigh = 0x01234567u;
  EXPECT_EQ(shf_l<Overrun::wrap>(kLow, kHigh, 8), 0x23456789u);
  EXPECT_EQ(shf_l<Overrun::wrap>(kLow, kHigh, 32), kHigh);
  EXPECT_EQ(shf_l<Overrun::clamp>(kLow, kHigh, 32), kLow);
  EXPECT_EQ(shf_l<Overrun::clamp>(kLow, kHigh, 99), kLow);
  EXPECT_EQ(shf_r<Overrun::wrap>(kLow, kHigh, 8), 0x6789abcdu);
  EXPECT_EQ(shf_r<Overrun::wrap>(kLow, kHigh, 33), shf_r<Overrun::wrap>(kLow, kHigh, 1));
  EXPECT_EQ(shf_r<Overrun::clamp>(kLow, kHigh, 40), kHigh);
  EXPECT_EQ(shf_r<Overrun::clamp>(kLow, kHigh, 0), kLow);
}

// The manual's own bit-by-bit definition.
template <class T>
T slow_bfe(T a, uint32_t b, uint32_t c) {
  const uint32_t msb = kWidth<T> - 1;
  const uint32_t position = b & 0xff;
  const uint32_t length = c & 0xff;
  const auto bit = [&](uint32_t i) { return static_cast<uint64_t>(a) >> i & 1; };
  const uint64_t sign = std::is_unsigned_v<T> || length == 0 ? 0 : bit(std::min(position + length - 1, msb));
  uint64_t d = 0;
  for (uint32_t i = 0; i <= msb; ++i) d |= (i < length && position + i <= msb ? bit(position + i) : sign) << i;
  return static_cast<T>(d);
}

template <class U>
U slow_bfi(U a, U b, uint32_t c, uint32_t d) {
  const uint32_t position = c & 0xff;
  U f = b;
  for (uint32_t i = 0; i < (d & 0xff) && position + i < kWidth<U>; ++i) {
    f = static_cast<U>((f & ~(U{1} << (position + i))) | (a >> i & 1) << (position + i));
  }
  return f;
}

template <class T>
void expect_fields_as_in_the_manual() {
  using U = std::make_unsigned_t<T>;
  Rng rng(sizeof(T));
  for (int i = 0; i < 100000; ++i) {
    const auto a = static_cast<T>(rng.next());
    const auto b = static_cast<uint32_t>(i % 2 == 0 ? rng.below(70) : rng.next());
    const auto c = static_cast<uint32_t>(i % 3 == 0 ? rng.next() : rng.below(70));
    ASSERT_EQ(bfe(a, b, c), slow_bfe(a, b, c)) << a << " " << b << " " << c;
    const auto other = static_cast<U>(rng.next());
    ASSERT_EQ(bfi(static_cast<U>(a), other, b, c), slow_bfi(static_cast<U>(a), other, b, c));
  }
}

TEST(BitOps, BitFieldsFollowTheManual) {
  expect_fields_as_in_the_manual<int32_t>();
  expect_fields_as_in_the_manual<uint32_t>();
  expect_fields_as_in_the_manual<int64_t>();
  expect_fields_as_in_the_manual<uint64_t>();
}

TEST(BitOps, CountsAndSearches) {
  EXPECT_EQ(popc(0xf0f0u), 8u);
  EXPECT_EQ(popc(~uint64_t{0}), 64u);
  EXPECT_EQ(clz(0u), 32u);
  EXPECT_EQ(clz(uint64_t{1}), 63u);
  EXPECT_EQ(bfind(0u), ~0u);
  EXPECT_EQ(bfind(0x10u), 4u);
  EXPECT_EQ(bfind(int32_t{-1}), ~0u);
  EXPECT_EQ(bfind(int32_t{-2}), 0u);
  EXPECT_EQ(bfind<true>(0x10u), 27u);
  EXPECT_EQ(bfind<true>(int64_t{-256}), 56u);
  EXPECT_EQ(bfind<true>(uint64_t{0}), ~0u);
  EXPECT_EQ(brev(1u), 0x80000000u);
  EXPECT_EQ(brev(0x12345678u), 0x1e6a2c48u);
  EXPECT_EQ(brev(uint64_t{1}), uint64_t{1} << 63);
}

TEST(BitOps, FnsFollowsTheManual) {
  EXPECT_EQ(fns(0xaaaaaaaau, 3, 1), 3u);
  EXPECT_EQ(fns(0xaaaaaaaau, 3, -1), 3u);
  EXPECT_EQ(fns(0xaaaaaaaau, 2, 1), 3u);
  EXPECT_EQ(fns(0xaaaaaaaau, 2, -1), 1u);
  EXPECT_EQ(fns(0xaaaaaaaau, 2, 0), ~0u);
  EXPECT_EQ(fns(0xaaaaaaaau, 3, 0), 3u);
  EXPECT_EQ(fns(0xaaaaaaaau, 0, 16), 31u);
  EXPECT_EQ(fns(0xaaaaaaaau, 0, 17), ~0u);
  EXPECT_EQ(fns(1u, 31, INT32_MIN), ~0u);
  EXPECT_EQ(fns(~0u, 32, 1), ~0u);
}

TEST(BitOps, PrmtSelectsBytes) {
  constexpr uint32_t kA = 0x83828180u;
  constexpr uint32_t kB = 0x07060504u;
  EXPECT_EQ(prmt(kA, kB, 0x3210), kA);
  EXPECT_EQ(prmt(kA, kB, 0x7654), kB);
  EXPECT_EQ(prmt(kA, kB, 0x0123), 0x80818283u);
  EXPECT_EQ(prmt(kA, kB, 0x8c40), 0xff000480u);
  EXPECT_EQ(prmt(kA, kB, 0xffff3210u), kA);
  constexpr uint32_t kC = 0x03020100u;
  const uint32_t f4e[] = {0x03020100, 0x04030201, 0x05040302, 0x06050403};
  const uint32_t b4e[] = {0x05060700, 0x06070001, 0x07000102, 0x00010203};
  const uint32_t rc8[] = {0x00000000, 0x01010101, 0x02020202, 0x03030303};
  const uint32_t ecl[] = {0x03020100, 0x03020101, 0x03020202, 0x03030303};
  const uint32_t ecr[] = {0x00000000, 0x01010100, 0x02020100, 0x03020100};
  const uint32_t rc16[] = {0x01000100, 0x03020302, 0x01000100, 0x03020302};
  for (uint32_t s = 0; s < 4; ++s) {
    EXPECT_EQ(prmt<PrmtMode::f4e>(kC, kB, s), f4e[s]);
    EXPECT_EQ(prmt<PrmtMode::b4e>(kC, kB, s), b4e[s]);
    EXPECT_EQ(prmt<PrmtMode::rc8>(kC, kB, s), rc8[s]);
    EXPECT_EQ(prmt<PrmtMode::ecl>(kC, kB, s), ecl[s]);
    EXPECT_EQ(prmt<PrmtMode::ecr>(kC, kB, s), ecr[s]);
    EXPECT_EQ(prmt<PrmtMode::rc16>(kC, kB, s), rc16[s]);
  }
}

TEST(BitOps, Lop3EvaluatesEveryTable) {
  constexpr uint32_t kA = 0xf0;
  constexpr uint32_t kB = 0xcc;
  constexpr uint32_t kC = 0xaa;
  for (uint32_t table = 0; table < 256; ++table) EXPECT_EQ(lop3(kA, kB, kC, table) & 0xff, table);
  EXPECT_EQ(lop3(0x12345678u, 0x9abcdef0u, 0x0f0f0f0fu, (kA & kB) | kC), (0x12345678u & 0x9abcdef0u) | 0x0f0f0f0fu);
}

TEST(BitOps, SzextExtends) {
  EXPECT_EQ((szext<Overrun::clamp>(int32_t{0x80}, 8)), -128);
  EXPECT_EQ((szext<Overrun::clamp>(0xffu, 4)), 0xfu);
  EXPECT_EQ((szext<Overrun::clamp>(int32_t{-2}, 32)), -2);
  EXPECT_EQ((szext<Overrun::clamp>(int32_t{-2}, 200)), -2);
  EXPECT_EQ((szext<Overrun::wrap>(0xffffffffu, 0)), 0u);
  EXPECT_EQ((szext<Overrun::wrap>(int32_t{-2}, 32)), 0);
  EXPECT_EQ((szext<Overrun::wrap>(int32_t{0x7f}, 39)), -1);
  EXPECT_EQ((szext<Overrun::clamp>(int32_t{1}, 1)), -1);
}

TEST(BitOps, BmskMakesMasks) {
  EXPECT_EQ(bmsk<Overrun::wrap>(1, 2), 6u);
  EXPECT_EQ(bmsk<Overrun::clamp>(0, 32), ~0u);
  EXPECT_EQ(bmsk<Overrun::clamp>(4, 40), 0xfffffff0u);
  EXPECT_EQ(bmsk<Overrun::clamp>(32, 4), 0u);
  EXPECT_EQ(bmsk<Overrun::wrap>(32, 4), 0xfu);
  EXPECT_EQ(bmsk<Overrun::wrap>(4, 32), 0u);
  EXPECT_EQ(bmsk<Overrun::wrap>(28, 8), 0xf0000000u);
}

}  // namespace
}  // namespace fb::num
