#pragma once

// Atomics and reductions of drawn values (tests/unit/machine/cases/reductions.lst), and what they must leave, computed
// here with wide integers and exact numbers.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/rng.h"

namespace fb::reductions {

enum class Kind : uint8_t { atom, red, load_reduce, store, bulk };

// atom, red, cp.reduce.async.bulk to global memory, or an operation on a multicast object.
struct Reduction {
  std::string opcode;
  Kind kind = Kind::atom;
  bool multimem = false;
  std::string operation;  // add … cas; empty: a store
  std::string type;       // of one element
  std::string sums;       // type of the sums, if another one
  std::string space;      // empty: generic
  uint32_t element_bits = 0;
  uint32_t in_register = 1, registers = 1;  // elements of a register, registers of a vector

  uint32_t register_bits() const { return element_bits * in_register; }
  uint32_t bytes() const { return register_bits() * registers / 8; }
};

// An old value, an operand, for cas another one, and what they make.
struct Written {
  std::string operation, type;
  uint64_t old = 0, operand = 0, second = 0, result = 0;
};

struct List {
  std::vector<Reduction> reductions;
  std::vector<Written> values;
};

// Opcodes between blanks, and lines `operation.type : values`; lines that begin with // are comments.
List read_list(const std::string& text);

// What `second` and `operand` make of `old`; none: a NaN of any payload. `flush`: subnormals of f32 are zeros.
std::optional<uint64_t> combine(const std::string& operation, const std::string& type, uint64_t old, uint64_t operand,
                                uint64_t second, bool flush);

constexpr uint32_t kMembers = 3;

// A kernel `reductions(cells, in, out)` of one warp. `cells` is memory, or a multicast object with kMembers members.
struct Program {
  std::string ptx;
  std::vector<uint64_t> in;
  std::vector<std::optional<uint64_t>> out;
  std::vector<uint64_t> cells[kMembers];
  std::vector<std::optional<uint64_t>> cells_left[kMembers];
};

// Of those reductions that are to a multicast object, or of the others.
Program make_program(const List& list, bool multimem, Rng& rng);

}  // namespace fb::reductions
