#pragma once

// Loads and stores in drawn shapes (tests/unit/machine/cases/README.md), and what they must leave, computed here.

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/rng.h"

namespace fb::accesses {

// An opcode of ld, ldu or st.
struct Access {
  std::string opcode;
  bool store = false;
  std::string space;  // empty: generic
  char kind = 'b';    // of the type
  uint32_t bits = 0, count = 1;
};

// Opcodes, between blanks; lines that begin with // are comments.
std::vector<Access> read_accesses(const std::string& text);

// One access of 32 lanes: lane l reaches place (l · step + first) mod 32. Places are side by side, or 32 bytes apart.
struct Drawn {
  Access access;
  std::string window;  // the space that the address is in
  uint32_t register_bits = 0, stride = 0, step = 1, first = 0;
  bool odd_only = false;
};

Drawn draw(const Access& access, Rng& rng);

struct Program {
  std::string ptx;  // a kernel `accesses(in, out)`
  std::vector<uint64_t> in, out;
};

Program make_program(const std::vector<Drawn>& drawn, Rng& rng);

}  // namespace fb::accesses
