#pragma once

#include <cstdint>

namespace fb::toolchain {

// What makes PTX of device code. Host code is always clang's.
enum class DeviceCompiler : uint8_t { clang, nvcc };

// nvcc's options for arithmetic in single precision.
struct Arithmetic {
  bool flush_subnormals = false;  // -ftz=true
  bool exact_division = true;     // -prec-div
  bool exact_roots = true;        // -prec-sqrt
  bool contract = true;           // -fmad: multiplications and additions become one instruction
  bool fast_functions = false;    // -use_fast_math: sinf means __sinf
};

}  // namespace fb::toolchain
