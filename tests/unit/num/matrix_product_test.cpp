// Kernels of matrix products: the same bits as the portable one.
#include "virtual_node/num/matrix/matrix_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace fb::num::matrix {
namespace {

// The element of row r and column j of what a kernel computes from unpacked factors of `depth`.
template <class T>
std::vector<T> product(const Kernel<T>& kernel, const std::vector<T>& a, const std::vector<T>& b, size_t size,
                       size_t depth) {
  const size_t high = (size + kernel.rows - 1) / kernel.rows, wide = (size + kernel.columns - 1) / kernel.columns;
  const size_t stride = wide * kernel.columns;
  std::vector<T> sums(high * kernel.rows * stride, T(0.5));
  for (size_t i = 0; i < high; ++i) {
    for (size_t j = 0; j < wide; ++j) {
      std::vector<T> pa(kernel.rows * depth), pb(kernel.columns * depth);
      for (size_t k = 0; k < depth; ++k) {
        for (size_t r = 0; r < kernel.rows && i * kernel.rows + r < size; ++r)
          pa[k * kernel.rows + r] = a[(i * kernel.rows + r) * depth + k];
        for (size_t c = 0; c < kernel.columns && j * kernel.columns + c < size; ++c)
          pb[k * kernel.columns + c] = b[(j * kernel.columns + c) * depth + k];
      }
      kernel.add(pa.data(), pb.data(), depth, sums.data() + i * kernel.rows * stride + j * kernel.columns, stride);
    }
  }
  std::vector<T> result;
  for (size_t r = 0; r < size; ++r) result.insert(result.end(), &sums[r * stride], &sums[r * stride] + size);
  return result;
}

template <class T>
void expect_equal_bits() {
  std::mt19937_64 rng(7);
  for (const size_t size : {1u, 7u, 33u, 70u}) {
    for (const size_t depth : {0u, 1u, 5u, 256u}) {
      std::vector<T> a(size * depth), b(size * depth);
      const auto draw = [&] {
        // Subnormal numbers among them.
        const int power = static_cast<int>(rng() % 40) == 0 ? std::numeric_limits<T>::min_exponent / 2 - 8 : -3;
        return std::ldexp(static_cast<T>(static_cast<int64_t>(rng() >> 40) - (1 << 23)), power);
      };
      for (T& x : a) x = draw();
      for (T& x : b) x = draw();
      const auto fast = product(kernel<T>(), a, b, size, depth),
                 slow = product(portable_kernel<T>(), a, b, size, depth);
      ASSERT_EQ(fast.size(), slow.size());
      EXPECT_EQ(std::memcmp(fast.data(), slow.data(), fast.size() * sizeof(T)), 0) << kernel<T>().name << " " << size;
    }
  }
}

TEST(MatrixProduct, KernelsOfF32GiveTheBitsOfThePortableOne) { expect_equal_bits<float>(); }
TEST(MatrixProduct, KernelsOfF64GiveTheBitsOfThePortableOne) { expect_equal_bits<double>(); }

TEST(MatrixProduct, SumsAreInOrderOfK) {
  // 2^24 + 1 + 1 is 2^24 in this order, and 2^24 + 2 in another.
  const std::vector<float> a = {16777216, 1, 1}, b = {1, 1, 1};
  const auto& k = kernel<float>();
  std::vector<float> pa(k.rows * 3), pb(k.columns * 3), c(k.rows * k.columns);
  for (size_t i = 0; i < 3; ++i) {
    pa[i * k.rows] = a[i];
    pb[i * k.columns] = b[i];
  }
  k.add(pa.data(), pb.data(), 3, c.data(), k.columns);
  EXPECT_EQ(c[0], 16777216);
}

}  // namespace
}  // namespace fb::num::matrix
