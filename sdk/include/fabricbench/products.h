#pragma once

// Matrix products for oracles: sums in double with the sums of their terms' magnitudes, from which the bounds follow.
// Blocked, and in vectors: some 5 billion products a second on one core. Results are the same on every processor: one
// order of summation, nothing fused.
//
//   Product c(rows, n);
//   c.add(k, [&](int64_t i, int64_t l) { return a[i * k + l]; },    // element (i, l) of the left factor
//            [&](int64_t l, int64_t j) { return b[j * k + l]; });   // element (l, j) of the right one
//   out.set(at, c.value(i, j), c.bound(i, j));
//
// Factors may have any layout and any type that converts to double. Several calls of add() are one longer sum: a depth
// that is split over ranks. Rows of a large product that are to be looked at: draw().

#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace fabricbench::oracle {

// One copy of a function for each width of vectors; the loader takes the best that the processor has.
#if defined(__x86_64__) && defined(__linux__)
#define FABRICBENCH_WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FABRICBENCH_WIDEST
#endif

namespace products {

constexpr int64_t kRows = 6, kColumns = 8;  // of a tile, whose sums are in registers
constexpr int64_t kDepth = 256;             // of a block of both factors: a tile's parts of them fit the first cache
constexpr int64_t kPanels = 64;             // tiles side by side whose part of the right factor fits the second one

using Vector = double __attribute__((vector_size(kColumns * sizeof(double))));
using Bits = int64_t __attribute__((vector_size(kColumns * sizeof(double))));

// Adds `depth` products to each sum of a tile, and their magnitudes. `a` has kRows numbers for each step of the depth,
// `b` has kColumns.
FABRICBENCH_WIDEST inline void multiply_tile(int64_t depth, const double* a, const double* b, double* value,
                                             double* magnitude) {
  Vector sums[kRows], magnitudes[kRows];
  __builtin_memcpy(sums, value, sizeof sums);
  __builtin_memcpy(magnitudes, magnitude, sizeof magnitudes);
  for (int64_t l = 0; l < depth; ++l, a += kRows, b += kColumns) {
    Vector right;
    __builtin_memcpy(&right, b, sizeof right);
#pragma GCC unroll 6
    for (int64_t i = 0; i < kRows; ++i) {
      const Vector term = a[i] * right;
      sums[i] += term;
      magnitudes[i] += (Vector)((Bits)term & INT64_MAX);
    }
  }
  __builtin_memcpy(value, sums, sizeof sums);
  __builtin_memcpy(magnitude, magnitudes, sizeof magnitudes);
}

}  // namespace products

class Product {
  static constexpr int64_t kRows = products::kRows, kColumns = products::kColumns;
  static constexpr int64_t kDepth = products::kDepth, kPanels = products::kPanels;

 public:
  Product(int64_t rows, int64_t columns)
      : rows_(rows),
        columns_(columns),
        panels_((columns + kColumns - 1) / kColumns),
        strips_((rows + kRows - 1) / kRows),
        values_(static_cast<size_t>(strips_ * panels_ * kRows * kColumns)),
        magnitudes_(values_.size()) {}

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

  // Adds the product of a rows x depth and a depth x columns matrix.
  template <class Left, class Right>
  void add(int64_t depth, Left left, Right right) {
    depth_ += depth;
    const int64_t block = std::min(kDepth, depth);
    std::vector<double> a(static_cast<size_t>(strips_ * kRows * block));
    std::vector<double> b(static_cast<size_t>(std::min(kPanels, panels_) * kColumns * block));
    for (int64_t first = 0; first < depth; first += block) {
      const int64_t steps = std::min(block, depth - first);
      for (int64_t strip = 0; strip < strips_; ++strip) {
        const int64_t row = strip * kRows;
        pack<kRows>(&a[static_cast<size_t>(row * block)], steps, rows_ - row,
                    [&](int64_t i, int64_t l) { return left(row + i, first + l); });
      }
      for (int64_t panel = 0; panel < panels_; panel += kPanels) {
        const int64_t panels = std::min(kPanels, panels_ - panel);
        for (int64_t p = 0; p < panels; ++p) {
          const int64_t column = (panel + p) * kColumns;
          pack<kColumns>(&b[static_cast<size_t>(p * kColumns * block)], steps, columns_ - column,
                         [&](int64_t j, int64_t l) { return right(first + l, column + j); });
        }
        for (int64_t strip = 0; strip < strips_; ++strip) {
          for (int64_t p = 0; p < panels; ++p) {
            const auto tile = static_cast<size_t>((strip * panels_ + panel + p) * kRows * kColumns);
            products::multiply_tile(steps, &a[static_cast<size_t>(strip * kRows * block)],
                                    &b[static_cast<size_t>(p * kColumns * block)], &values_[tile], &magnitudes_[tile]);
          }
        }
      }
    }
  }

  // The sum of the products, and of their magnitudes.
  double value(int64_t i, int64_t j) const { return values_[at(i, j)]; }
  double magnitude(int64_t i, int64_t j) const { return magnitudes_[at(i, j)]; }

  // How far the sum may be off, before its rounding to the output's format, if it is formed in f32 in any order. Each
  // term takes part in at most as many roundings as there are terms (its own, where factors have f32, and additions).
  // Tensor cores align terms to the largest of them and cut off instead of rounding: 2 units each. (1 + 2u)^d - 1 is
  // at most 2ud / (1 - 2ud).
  double bound(int64_t i, int64_t j) const {
    const double all = 2 * static_cast<double>(depth_) * unit_roundoff(DType::f32);
    return all / (1 - all) * magnitude(i, j);
  }

 private:
  // The numbers of a tile, kCount for each step; zeros where the matrix has no more.
  template <int64_t kCount, class Element>
  static void pack(double* to, int64_t steps, int64_t count, Element element) {
    if (count >= kCount) {
      for (int64_t l = 0; l < steps; ++l) {
        for (int64_t i = 0; i < kCount; ++i) to[l * kCount + i] = static_cast<double>(element(i, l));
      }
      return;
    }
    for (int64_t l = 0; l < steps; ++l) {
      for (int64_t i = 0; i < kCount; ++i) to[l * kCount + i] = i < count ? static_cast<double>(element(i, l)) : 0;
    }
  }
  size_t at(int64_t i, int64_t j) const {
    if (i < 0 || i >= rows_ || j < 0 || j >= columns_) throw std::out_of_range("Product: no such element");
    return static_cast<size_t>((i / kRows * panels_ + j / kColumns) * kRows * kColumns + i % kRows * kColumns +
                               j % kColumns);
  }
  int64_t rows_, columns_, panels_, strips_, depth_ = 0;
  std::vector<double> values_, magnitudes_;
};

// `count` different numbers of 0 … all - 1, ascending: rows of a product that is too large to be looked at as a whole.
// The others are ignored, so a candidate that leaves some rows out is found out with the next calls.
inline std::vector<int64_t> draw(Random& random, int64_t all, int64_t count) {
  std::vector<int64_t> drawn;
  for (int64_t i = 0; i < all; ++i) {
    if (random.below(all - i) < count - static_cast<int64_t>(drawn.size())) drawn.push_back(i);
  }
  return drawn;
}

}  // namespace fabricbench::oracle
