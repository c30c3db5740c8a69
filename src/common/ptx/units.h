#pragma once

// Which units of a multiprocessor an instruction occupies, and how many machine instructions stand for it. PTX is not
// what the hardware executes: a 64-bit addition is two instructions there, a division some thirty, a move between
// registers none. Counts follow what ptxas makes of a PTX instruction, in round numbers; docs/reference/time.md lists
// them.

#include <cstdint>
#include <string_view>

#include "common/ptx/module.h"

namespace fb::ptx {

enum class Unit : uint8_t {
  none,  // no instruction: moves, address windows, parameters
  fma,   // f32
  half,  // f16, bf16
  f64,
  integer,      // add, logic, shifts, comparison, selection; minimum and maximum of all types
  multiply,     // integer products
  special,      // reciprocals, roots, exponentials; conversions between kinds of numbers; counting of bits
  exchange,     // shuffles between lanes, through the load/store unit
  vote,         // votes, and reductions over lanes
  exponential,  // ex2
  tensor,       // mma.sync
  load_store,   // any instruction that names memory
  control,      // branches, barriers, fences, calls
};

// What a PTX instruction is made of: `count` instructions of one unit, of which `steps` follow each other, and others
// of a second unit beside them.
struct Work {
  Unit unit = Unit::integer;
  uint8_t count = 1;
  uint8_t steps = 1;
  Unit second = Unit::none;
  uint8_t second_count = 0;
  uint8_t second_steps = 0;
};

Work work_of(const Instruction& inst);

// A call of a mathematical function of CUDA's device library that is not in the module: expf, __nv_pow.
Work work_of_function(std::string_view name);

}  // namespace fb::ptx
