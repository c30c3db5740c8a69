#include "virtual_node/simt/tensor/tensor_map.h"

#include <gtest/gtest.h>

#include <set>

namespace fb::simt {
namespace {

TensorMap example() {
  TensorMap map;
  map.type = TensorType::bf16;
  map.rank = 3;
  map.swizzle = TensorSwizzle::b128;
  map.l2_promotion = 2;
  map.address = 0x10'0000'1000;
  map.dims = {100, uint64_t{1} << 32, 3};
  map.strides = {208, uint64_t{1} << 39};
  map.box = {64, 256, 1};
  map.element_strides = {1, 2, 1, 1, 1};
  return map;
}

TEST(TensorMap, SurvivesItsBytes) {
  std::array<std::byte, kTensorMapBytes> bytes;
  encode(example(), bytes);
  TensorMap back;
  ASSERT_TRUE(decode(bytes, back));
  EXPECT_EQ(back, example());
  EXPECT_EQ(find_problem(back), "");
}

TEST(TensorMap, ZeroedMemoryIsABlankMapAndOtherMemoryIsNone) {
  std::array<std::byte, kTensorMapBytes> bytes{};
  TensorMap map;
  EXPECT_TRUE(decode(bytes, map));
  EXPECT_NE(find_problem(map), "");
  bytes[100] = std::byte{1};
  EXPECT_FALSE(decode(bytes, map));
}

TEST(TensorMap, ABoxHasItsElementsAfterStridesThinnedThemOut) {
  EXPECT_EQ(box_elements(example(), 0), 64u);
  EXPECT_EQ(box_elements(example(), 1), 128u);
  EXPECT_EQ(box_bytes(example()), 64u * 128 * 2);
}

template <class F>
std::string problem_after(F change) {
  TensorMap map = example();
  change(map);
  return find_problem(map);
}

TEST(TensorMap, SaysWhatCanNotBeUsed) {
  EXPECT_NE(problem_after([](TensorMap& m) { m.rank = 0; }), "");
  EXPECT_NE(problem_after([](TensorMap& m) { m.rank = 6; }), "");
  EXPECT_NE(problem_after([](TensorMap& m) { m.address += 8; }), "");
  EXPECT_NE(problem_after([](TensorMap& m) { m.dims[1] = 0; }), "");
  EXPECT_NE(problem_after([](TensorMap& m) { m.strides[0] = 200; }), "");
  EXPECT_NE(problem_after([](TensorMap& m) { m.strides[1] = uint64_t{1} << 40; }), "");
  EXPECT_NE(problem_after([](TensorMap& m) { m.box[1] = 257; }), "");
  EXPECT_NE(problem_after([](TensorMap& m) { m.box[0] = 72; }), "");  // 144 bytes do not fit in 128
  EXPECT_NE(problem_after([](TensorMap& m) { m.box[0] = 4; }), "");   // 8 bytes
  EXPECT_NE(problem_after([](TensorMap& m) { m.element_strides[2] = 9; }), "");
  EXPECT_NE(problem_after([](TensorMap& m) { m.interleave = TensorInterleave::b16; }), "");
  EXPECT_NE(problem_after([](TensorMap& m) { m.fill = TensorFill::nan; }), "");
  EXPECT_NE(problem_after([](TensorMap& m) { m.type = static_cast<TensorType>(200); }), "");
  // Entries beyond the rank mean nothing.
  EXPECT_EQ(problem_after([](TensorMap& m) { m.box[3] = 999; }), "");
}

TEST(TensorMap, SwizzlingMovesPiecesInsideTheirSpanAndIsItsOwnInverse) {
  for (const auto& [swizzle, span] : {std::pair{TensorSwizzle::none, 16u},
                                      {TensorSwizzle::b32, 32u},
                                      {TensorSwizzle::b64, 64u},
                                      {TensorSwizzle::b128, 128u}}) {
    std::set<uint32_t> seen;
    for (uint32_t a = 0; a < 2048; ++a) {
      const uint32_t b = swizzled(swizzle, a);
      EXPECT_EQ(a / span, b / span);
      EXPECT_EQ(a % 16, b % 16);
      EXPECT_EQ(swizzled(swizzle, b), a);
      seen.insert(b);
    }
    EXPECT_EQ(seen.size(), 2048u);
  }
}

}  // namespace
}  // namespace fb::simt
