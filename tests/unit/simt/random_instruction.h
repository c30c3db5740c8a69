#pragma once

// One random instruction at a time, over a fixed set of registers.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/rng.h"

namespace fb::random_program {

inline constexpr uint32_t kPredicates = 6, kHalves = 10, kWords = 14, kLongs = 10;

// What an instruction may be where it stands.
enum class Place : uint8_t {
  together,  // all lanes of the warp execute it: warp operations are allowed
  apart,     // perhaps only some do
};

class Instructions {
 public:
  explicit Instructions(Rng& rng) : rng_(rng) {}

  // One or a few lines, each ending with a newline.
  std::string next(Place place);

  std::string predicate() { return "%p" + std::to_string(rng_.below(kPredicates)); }
  std::string half() { return "%h" + std::to_string(rng_.below(kHalves)); }
  std::string word() { return "%r" + std::to_string(rng_.below(kWords)); }
  std::string longer() { return "%l" + std::to_string(rng_.below(kLongs)); }
  std::string reg(uint32_t bits) { return bits == 16 ? half() : bits == 32 ? word() : longer(); }
  // "", "@%p3 " or "@!%p3 ".
  std::string guard();
  // `{a,b,}` chooses one, at random; an empty choice is allowed.
  std::string choose(std::string_view text);

 private:
  std::string literal(std::string_view type);
  std::string operand(char code, std::string_view type);
  std::string operands(std::string_view codes, std::string_view type);
  std::string plain();
  std::string convert();
  std::string divide();
  std::string carry_chain();
  std::string approximate();
  std::string four_bits();
  std::string find_nth();
  std::string warp_operation();

  Rng& rng_;
};

// Bits that are likely to find mistakes: limits, powers of two, NaNs, subnormals, halves of floats.
uint64_t corner_bits(Rng& rng, uint32_t bits);

}  // namespace fb::random_program
