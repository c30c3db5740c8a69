#include "virtual_node/num/tensor/portable_engine.h"

#include <bit>
#include <cmath>

#include "virtual_node/num/half.h"
#include "virtual_node/num/small_float.h"

namespace fb::num::tensor {
namespace {

// values[row or column][k].
float& value_at(Factor& f, uint32_t line, uint32_t k) { return f.values[line * kMostElements + k]; }
float value_at(const Factor& f, uint32_t line, uint32_t k) { return f.values[line * kMostElements + k]; }

void begin(Element element, uint32_t words, Factor& f) {
  f.words = words;
  f.per_word = elements_in_word(element);
  f.element = element;
}

void decode_register(Element element, const uint32_t* words, uint32_t first_line, uint32_t first_word, Factor& f) {
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    for (uint32_t k = 0; k < f.per_word; ++k) {
      value_at(f, first_line + thread / 4, (first_word + thread % 4) * f.per_word + k) =
          element_value(element, words[thread], k);
    }
  }
}

void prepare_a(Element element, uint32_t words, const uint32_t* const* registers, Factor& a) {
  begin(element, words, a);
  for (uint32_t r = 0; r < words / 2; ++r) decode_register(element, registers[r], 8 * (r % 2), 4 * (r / 2), a);
}

void prepare_b(Element element, uint32_t words, const uint32_t* const* registers, Factor& b) {
  begin(element, words, b);
  for (uint32_t r = 0; r < words / 4; ++r) decode_register(element, registers[r], 0, 4 * r, b);
}

float sum_of_products(const Factor& a, uint32_t row, const Factor& b, uint32_t column) {
  float even = 0, odd = 0;
  for (uint32_t k = 0; k < a.words * a.per_word; k += 2) {
    even = std::fma(value_at(a, row, k), value_at(b, column, k), even);
    odd = std::fma(value_at(a, row, k + 1), value_at(b, column, k + 1), odd);
  }
  return even + odd;
}

void multiply(const Factor& a, const Factor& b, Sums& sums) {
  for (uint32_t r = 0; r < 4; ++r) {
    for (uint32_t thread = 0; thread < kThreads; ++thread) {
      sums.values[r][thread] = sum_of_products(a, thread / 4 + 8 * (r / 2), b, thread % 4 * 2 + r % 2);
    }
  }
}

void multiply_many(const Factor* const* a, const Factor* const* b, Sums* sums, uint32_t count) {
  for (uint32_t k = 0; k < count; ++k) multiply(*a[k], *b[k], sums[k]);
}

void multiply_f64(const double* a, const double* b, double* c, uint32_t rows, uint32_t depth) {
  for (uint32_t m = 0; m < rows; ++m) {
    for (uint32_t k = 0; k < depth; ++k) {
      for (uint32_t n = 0; n < kColumns; ++n) {
        c[m * kColumns + n] = std::fma(a[m * depth + k], b[k * kColumns + n], c[m * kColumns + n]);
      }
    }
  }
}

}  // namespace

float element_value(Element element, uint32_t word, uint32_t k) {
  const auto half = static_cast<uint16_t>(word >> (16 * (k % 2)));
  const auto byte = static_cast<uint8_t>(word >> (8 * (k % 4)));
  const auto nibble = static_cast<uint8_t>(word >> (4 * k) & 15);
  switch (element) {
    case Element::f32:
      return std::bit_cast<float>(word);
    case Element::tf32:
      return tf32_to_f32(word);
    case Element::f16:
      return f16_to_f32(half);
    case Element::bf16:
      return bf16_to_f32(half);
    case Element::e4m3:
      return e4m3_to_f32(byte);
    case Element::e5m2:
      return e5m2_to_f32(byte);
    case Element::e3m2:
      return e3m2_to_f32(byte & 63);
    case Element::e2m3:
      return e2m3_to_f32(byte & 63);
    case Element::e2m1:
      return e2m1_to_f32(byte & 15);
    case Element::s8:
      return static_cast<int8_t>(byte);
    case Element::u8:
      return byte;
    case Element::packed_e2m1:
      return e2m1_to_f32(nibble);
    case Element::s4:
      return static_cast<float>(nibble < 8 ? nibble : nibble - 16);
    case Element::u4:
      return nibble;
    case Element::count_:
      break;
  }
  return 0;
}

const Engine kPortableEngine{"portable", prepare_a, prepare_b, multiply, multiply_many, multiply_f64};

}  // namespace fb::num::tensor
