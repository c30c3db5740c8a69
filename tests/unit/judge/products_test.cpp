#include <fabricbench/products.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace fabricbench::oracle {
namespace {

// Elements of factors, different for all places.
double left(int64_t i, int64_t l) { return std::sin(static_cast<double>(7 * i + 3 * l + 1)); }
double right(int64_t l, int64_t j) { return std::cos(static_cast<double>(5 * l - 2 * j)); }

TEST(Product, IsTheSumOfProductsForAllShapesOfTilesAndBlocks) {
  for (const int64_t rows : {1, 5, 6, 13}) {
    for (const int64_t columns : {1, 8, 19, 520}) {
      for (const int64_t depth : {1, 255, 256, 300}) {
        Product product(rows, columns);
        product.add(depth, left, right);
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < columns; j += 7) {
            double sum = 0, magnitude = 0;
            for (int64_t l = 0; l < depth; ++l) {
              sum += left(i, l) * right(l, j);
              magnitude += std::fabs(left(i, l) * right(l, j));
            }
            ASSERT_NEAR(product.value(i, j), sum, 1e-13 * magnitude)
                << i << ", " << j << " of " << rows << "x" << columns;
            ASSERT_NEAR(product.magnitude(i, j), magnitude, 1e-13 * magnitude);
          }
        }
      }
    }
  }
}

TEST(Product, SeveralCallsAreOneLongerSum) {
  Product whole(4, 9), parts(4, 9);
  whole.add(100, left, right);
  parts.add(60, left, right);
  parts.add(
      40, [](int64_t i, int64_t l) { return left(i, l + 60); }, [](int64_t l, int64_t j) { return right(l + 60, j); });
  EXPECT_NEAR(parts.value(3, 8), whole.value(3, 8), 1e-12);
  EXPECT_DOUBLE_EQ(parts.bound(3, 8), 200 * 0x1p-24 / (1 - 200 * 0x1p-24) * parts.magnitude(3, 8));
}

TEST(Product, ASumInFloatIsWithinTheBoundAndOneInBf16IsNot) {
  Product product(1, 64);
  product.add(512, left, right);
  int outside = 0;
  for (int64_t j = 0; j < 64; ++j) {
    float sum = 0;
    bf16 coarse;
    for (int64_t l = 0; l < 512; ++l) {
      const auto term = static_cast<float>(left(0, l) * right(l, j));
      sum += term;
      coarse = bf16(static_cast<float>(coarse) + term);
    }
    EXPECT_LE(std::fabs(sum - product.value(0, j)), product.bound(0, j));
    outside += std::fabs(coarse - product.value(0, j)) > product.bound(0, j) ? 1 : 0;
  }
  EXPECT_GT(outside, 32) << "of 64";
}

TEST(Product, HasNoOtherElements) {
  Product product(3, 5);
  EXPECT_THROW((void)product.value(3, 0), std::out_of_range);
  EXPECT_THROW((void)product.value(0, 5), std::out_of_range);
  EXPECT_THROW((void)product.value(-1, 0), std::out_of_range);
}

TEST(Draw, TakesAsManyAsAskedForAscendingAndAnyOfThem) {
  Random random(3);
  std::set<int64_t> seen;
  for (int k = 0; k < 200; ++k) {
    const auto drawn = draw(random, 20, 5);
    ASSERT_EQ(drawn.size(), 5u);
    for (size_t i = 1; i < drawn.size(); ++i) ASSERT_LT(drawn[i - 1], drawn[i]);
    seen.insert(drawn.begin(), drawn.end());
  }
  EXPECT_EQ(seen.size(), 20u);
  EXPECT_EQ(draw(random, 4, 4), (std::vector<int64_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace fabricbench::oracle
