#pragma once

// Values that are put into inputs at drawn places: those that a candidate may have given a meaning of its own, such as
// "nothing has arrived yet", although the problem allows any value.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/rng.h"
#include "judge/catalog/problem.h"

namespace fb::judge {

struct Dictionary {
  std::vector<uint64_t> constants = {};  // of the candidate's code, as bits
  std::vector<uint32_t> seen = {};       // in its memory, after the step before

  // A value of 64 bits, of which a narrower type takes the lowest. `call`: numbers of calls are values of flags.
  uint64_t draw(Rng& rng, uint32_t call) const;
};

// The constants of PTX text: immediates and initial values.
std::vector<uint64_t> constants_of_ptx(std::string_view ptx);
// The immediates of x86-64 code that are wider than a byte, and the words of constant data.
std::vector<uint64_t> constants_of_host_code(std::span<const std::byte> code);
// Of a shared object and its PTX, inside it or in a file beside it: both.
std::vector<uint64_t> constants_of_object(const std::string& path);

// Puts values of the dictionary into some elements, where the tensor's `fill` allows the value: any bits where it is
// "bits"; a number in the range of the fill where that has one.
void plant(const catalog::Tensor& tensor, std::span<std::byte> bytes, const Dictionary& dictionary, uint32_t call,
           uint64_t seed);

}  // namespace fb::judge
