#pragma once

// What an engine of tensor cores does, and what with; how it adds says virtual_node/num/tensor/tensor_engine.h.

#include <cstdint>

namespace fb::num::tensor {

// Codes of the elements in 32-bit words; smaller ones are packed, the first in the lowest bits. e3m2, e2m3 and e2m1
// lie in the low bits of bytes; packed_e2m1 has two in a byte.
enum class Element : uint8_t {
  f32,
  tf32,
  f16,
  bf16,
  e4m3,
  e5m2,
  e3m2,
  e2m3,
  e2m1,
  s8,
  u8,
  packed_e2m1,
  s4,
  u4,
  count_
};

constexpr uint32_t elements_in_word(Element e) {
  if (e <= Element::tf32) return 1;
  if (e <= Element::bf16) return 2;
  return e < Element::packed_e2m1 ? 4 : 8;
}

constexpr bool is_integer(Element e) {
  return e == Element::s8 || e == Element::u8 || e == Element::s4 || e == Element::u4;
}

inline constexpr uint32_t kRows = 16, kColumns = 8, kThreads = 32;
inline constexpr uint32_t kMostWords = 64;     // of a row of A or a column of B: f32 with K = 64
inline constexpr uint32_t kMostElements = 64;  // K

// Fragments: registers of 32 words, one for each thread of a warp. Thread 4g + t has word t of four along K: of row g
// (or g + 8) in A, of column g in B. Sums: rows g and g + 8, columns 2t and 2t + 1.

// A factor, decoded; what is in it is the engine's business.
struct alignas(64) Factor {
  float values[kMostElements * kRows];
  uint32_t words = 0;     // along K
  uint32_t per_word = 0;  // elements
  Element element{};
  uint8_t form = 0;
};

struct alignas(64) Sums {
  float values[4][kThreads];
};

struct Engine {
  const char* name;
  // Register 2r + h of A: rows 8h …, words 4r … of each. `words` is a multiple of 4.
  void (*prepare_a)(Element element, uint32_t words, const uint32_t* const* registers, Factor& a);
  // Register r of B: words 4r … of each column.
  void (*prepare_b)(Element element, uint32_t words, const uint32_t* const* registers, Factor& b);
  // even + odd. Both factors have the same number of words and of elements in a word.
  void (*multiply)(const Factor& a, const Factor& b, Sums& sums);
  // The same for several pairs of factors of the same elements; pairs with the same A follow each other.
  void (*multiply_many)(const Factor* const* a, const Factor* const* b, Sums* sums, uint32_t count);
  // c[m][n] becomes fma(a[m][k], b[k][n], c[m][n]) for k = 0, 1, …: rows × 8, f64.
  void (*multiply_f64)(const double* a, const double* b, double* c, uint32_t rows, uint32_t depth);
};

}  // namespace fb::num::tensor
