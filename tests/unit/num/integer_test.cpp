#include "virtual_node/num/integer.h"

#include <gtest/gtest.h>

#include "virtual_node/num/packed.h"

namespace fb::num {
namespace {

TEST(Integer, MulHiTakesTheUpperHalf) {
  EXPECT_EQ(mul_hi(0xffffffffu, 0xffffffffu), 0xfffffffeu);
  EXPECT_EQ(mul_hi(int32_t{-1}, int32_t{1}), -1);
  EXPECT_EQ(mul_hi(INT32_MIN, INT32_MIN), 0x40000000);
  EXPECT_EQ(mul_hi(~uint64_t{0}, ~uint64_t{0}), ~uint64_t{1});
  EXPECT_EQ(mul_hi(INT64_MIN, int64_t{-1}), 0);
  EXPECT_EQ(mul_hi(INT64_MIN, int64_t{2}), -1);
  EXPECT_EQ(mul_hi(uint16_t{0xffff}, uint16_t{0xffff}), 0xfffe);
  EXPECT_EQ(mul_hi(int16_t{-32768}, int16_t{2}), -1);
  EXPECT_EQ(mul_wide(int32_t{-3}, int32_t{5}), -15);
  EXPECT_EQ(mul_wide(uint16_t{0xffff}, uint16_t{0xffff}), 0xfffe0001u);
}

TEST(Integer, MulLoWraps) {
  EXPECT_EQ(mul_lo(INT32_MIN, int32_t{-1}), INT32_MIN);
  EXPECT_EQ(mul_lo(int16_t{-300}, int16_t{300}), static_cast<int16_t>(-90000));
  EXPECT_EQ(mul_lo(INT64_MAX, int64_t{2}), -2);
  EXPECT_EQ(mul_lo(uint16_t{0xffff}, uint16_t{0xffff}), 1);
}

TEST(Integer, Mul24UsesTheLow24Bits) {
  EXPECT_EQ(mul24_lo(0xff000002u, 0xff000003u), 6u);
  EXPECT_EQ(mul24_lo(int32_t{0x00ffffff}, int32_t{5}), -5);
  EXPECT_EQ(mul24_hi(0x00ffffffu, 0x00ffffffu), 0xfffffe00u);
  EXPECT_EQ(mul24_hi(int32_t{0x00800000}, int32_t{0x00800000}), 0x40000000);
}

TEST(Integer, SadDoesNotOverflowInTheDifference) {
  EXPECT_EQ(sad(INT32_MIN, INT32_MAX, int32_t{1}), 0);
  EXPECT_EQ(sad(3u, 10u, 5u), 12u);
  EXPECT_EQ(sad(int16_t{-5}, int16_t{5}, int16_t{1}), 11);
  EXPECT_EQ(sad(INT64_MAX, INT64_MIN, int64_t{0}), -1);
}

TEST(Integer, DivisionNeverTraps) {
  EXPECT_EQ(div(7, -2), -3);
  EXPECT_EQ(rem(7, -2), 1);
  EXPECT_EQ(rem(-7, 2), -1);
  EXPECT_EQ(div(INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(rem(INT32_MIN, -1), 0);
  EXPECT_EQ(div(INT64_MIN, int64_t{-1}), INT64_MIN);
  EXPECT_EQ(rem(INT64_MIN, int64_t{-1}), 0);
  EXPECT_EQ(div(int16_t{-32768}, int16_t{-1}), -32768);
  EXPECT_EQ(div(5u, 0u), ~0u);
  EXPECT_EQ(rem(5u, 0u), 5u);
  EXPECT_EQ(div(-5, 0), -1);
  EXPECT_EQ(rem(-5, 0), -5);
  EXPECT_EQ(div(uint64_t{9}, uint64_t{0}), ~uint64_t{0});
  EXPECT_EQ(div(~0u, ~0u), 1u);
  EXPECT_EQ(rem(5u, ~0u), 5u);
}

TEST(Integer, SaturatingSumsClamp) {
  EXPECT_EQ(add_sat(INT32_MAX, 1), INT32_MAX);
  EXPECT_EQ(add_sat(INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(sub_sat(INT32_MIN, 1), INT32_MIN);
  EXPECT_EQ(sub_sat(0, INT32_MIN), INT32_MAX);
  EXPECT_EQ(add_sat(3, -5), -2);
  EXPECT_EQ(mad_hi_sat(INT32_MIN, INT32_MIN, INT32_MAX), INT32_MAX);
}

TEST(Integer, CarriesChain) {
  EXPECT_EQ(add_carry(0xffffffffu, 1u, false), (WithCarry<uint32_t>{0, true}));
  EXPECT_EQ(add_carry(0xffffffffu, 0u, true), (WithCarry<uint32_t>{0, true}));
  EXPECT_EQ(add_carry(0xffffffffu, 0xffffffffu, true), (WithCarry<uint32_t>{0xffffffffu, true}));
  EXPECT_EQ(add_carry(1u, 2u, true), (WithCarry<uint32_t>{4, false}));
  EXPECT_EQ(sub_borrow(0u, 1u, false), (WithCarry<uint32_t>{0xffffffffu, true}));
  EXPECT_EQ(sub_borrow(0u, 0u, true), (WithCarry<uint32_t>{0xffffffffu, true}));
  EXPECT_EQ(sub_borrow(0u, 0xffffffffu, true), (WithCarry<uint32_t>{0, true}));
  EXPECT_EQ(sub_borrow(5u, 3u, true), (WithCarry<uint32_t>{1, false}));
  EXPECT_EQ(add_carry(~uint64_t{0}, uint64_t{1}, false), (WithCarry<uint64_t>{0, true}));
  EXPECT_EQ(mad_lo_carry(0x10000u, 0x10000u, 7u, false), (WithCarry<uint32_t>{7, false}));
}

TEST(Integer, AbsOfTheMostNegativeWraps) {
  EXPECT_EQ(abs(INT32_MIN), INT32_MIN);
  EXPECT_EQ(abs(int16_t{-32768}), -32768);
  EXPECT_EQ(abs(int64_t{-3}), 3);
  EXPECT_EQ(neg(INT64_MIN), INT64_MIN);
  EXPECT_EQ(min(-1, 1), -1);
  EXPECT_EQ(max(~0u, 1u), ~0u);
}

TEST(Packed, DotProducts) {
  EXPECT_EQ((dp4a<int32_t, int32_t>(0xff02fe03u, 0x01020304u, 10)), 10u + static_cast<uint32_t>(-1 + 4 - 6 + 12));
  EXPECT_EQ((dp4a<uint32_t, uint32_t>(0xffffffffu, 0xffffffffu, 0)), 4u * 255 * 255);
  EXPECT_EQ((dp4a<uint32_t, int32_t>(0xff000000u, 0xff000000u, 0)), static_cast<uint32_t>(-255));
  EXPECT_EQ((dp2a<int32_t, int32_t, false>(0xffff0002u, 0x05060708u, 1)), static_cast<uint32_t>(1 - 7 + 16));
  EXPECT_EQ((dp2a<int32_t, int32_t, true>(0xffff0002u, 0x05060708u, 1)), static_cast<uint32_t>(1 - 5 + 12));
  EXPECT_EQ((dp2a<uint32_t, uint32_t, true>(0xffffffffu, 0xffff0000u, 0)), 2u * 65535 * 255);
}

TEST(Packed, SixteenBitPairs) {
  EXPECT_EQ(min_u16x2(0x8000'0001u, 0x0001'8000u), 0x0001'0001u);
  EXPECT_EQ(max_u16x2(0x8000'0001u, 0x0001'8000u), 0x8000'8000u);
  EXPECT_EQ(min_s16x2(0x8000'0001u, 0x0001'8000u), 0x8000'8000u);
  EXPECT_EQ(max_s16x2(0x8000'0001u, 0x0001'8000u), 0x0001'0001u);
  EXPECT_EQ(add_16x2(0xffff'ffffu, 0x0001'0001u), 0u);
  EXPECT_EQ(relu_s16x2(0x8000'7fffu), 0x0000'7fffu);
}

}  // namespace
}  // namespace fb::num
