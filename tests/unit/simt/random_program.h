#pragma once

// Valid PTX programs from a seed. Every register is initialised, no thread races with another, and no result depends on
// what PTX leaves undefined; so two right engines agree on every byte.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fb::random_program {

enum class Flavour : uint8_t {
  straight,   // one instruction after the other: every computing form
  branching,  // conditions, loops, jump tables, early exits, calls
  memory,     // loads, stores and atomics in every space
};

// The kernel `k(in, out, scratch, blob)`: each thread starts from its part of `in` and leaves all its registers in its
// part of `out`; `scratch` is compared too; `blob` is 32 bytes of parameter.
struct Program {
  std::string ptx;
  uint32_t threads = 32;
  std::vector<std::byte> in, scratch, blob;
  uint64_t out_bytes = 0;
};

Program generate(uint64_t seed, Flavour flavour);

}  // namespace fb::random_program
