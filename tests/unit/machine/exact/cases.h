#pragma once

// Instructions with values, of tests/unit/machine/cases (README.md there), and what they must give.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fb::cases {

struct Register {
  std::string name;
  uint32_t bits = 0;
};

using Values = std::vector<uint64_t>;

// Values of the registers that are read, and of those that are written then; none: anything.
struct Example {
  Values in;
  std::vector<std::optional<uint64_t>> out;
};

// One line of a file, or one of the lines that it stands for: instructions over registers which are named by what they
// are for. Without examples, all values are drawn.
struct Case {
  uint32_t line = 0;
  std::string text;  // PTX
  std::vector<std::string> instructions;
  std::vector<Register> read, written, temporary;
  std::vector<Example> examples;
};

// Throws std::runtime_error with the line of a malformed case.
std::vector<Case> read_cases(const std::string& text);

inline constexpr uint32_t kLanes = 32;

// A kernel `cases(in, out, old)` that executes all of them in each lane, first plainly and then in odd lanes only, over
// registers that hold `old`. A value takes 8 bytes, its 32 lanes one after the other.
std::string make_kernel(const std::vector<Case>& cases);

}  // namespace fb::cases
