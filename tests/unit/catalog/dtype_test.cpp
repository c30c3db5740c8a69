#include "judge/catalog/dtype.h"

#include <gtest/gtest.h>

#include "sdk/include/fabricbench/oracle.h"

namespace fb::catalog {
namespace {

TEST(DType, NamesComeBackAsTheirTypes) {
  for (size_t k = 0; k < kDTypes; ++k) {
    const auto type = static_cast<DType>(k);
    EXPECT_EQ(dtype_from(name_of(type)), type);
  }
  EXPECT_EQ(dtype_from("float"), std::nullopt);
  EXPECT_EQ(dtype_from(""), std::nullopt);
}

TEST(DType, SizesAndSpellingsAreCudas) {
  EXPECT_EQ(size_of(DType::bf16), 2u);
  EXPECT_EQ(size_of(DType::f64), 8u);
  EXPECT_EQ(size_of(DType::u8), 1u);
  EXPECT_EQ(cuda_type_of(DType::bf16), "__nv_bfloat16");
  EXPECT_EQ(cuda_type_of(DType::f16), "__half");
  EXPECT_EQ(cuda_type_of(DType::i64), "int64_t");
}

TEST(DType, FloatsAreTold) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f64}) EXPECT_TRUE(is_float(type));
  for (const DType type : {DType::i32, DType::u32, DType::i64, DType::u64, DType::u8}) EXPECT_FALSE(is_float(type));
}

TEST(DType, NumbersAreThoseOfTheOracle) {
  using Other = fabricbench::oracle::DType;
  const auto same = [](DType ours, Other other) { return static_cast<uint32_t>(ours) == static_cast<uint32_t>(other); };
  EXPECT_TRUE(same(DType::f32, Other::f32));
  EXPECT_TRUE(same(DType::f16, Other::f16));
  EXPECT_TRUE(same(DType::bf16, Other::bf16));
  EXPECT_TRUE(same(DType::f64, Other::f64));
  EXPECT_TRUE(same(DType::i32, Other::i32));
  EXPECT_TRUE(same(DType::u32, Other::u32));
  EXPECT_TRUE(same(DType::i64, Other::i64));
  EXPECT_TRUE(same(DType::u64, Other::u64));
  EXPECT_TRUE(same(DType::u8, Other::u8));
}

}  // namespace
}  // namespace fb::catalog
