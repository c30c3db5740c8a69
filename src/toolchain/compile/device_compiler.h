#pragma once

#include <cstdint>
#include <string_view>

namespace fb::toolchain {

// What makes PTX of device code. Host code is always clang's.
enum class DeviceCompiler : uint8_t { clang, nvcc };

// "clang" or "nvcc", as options and records name them.
inline DeviceCompiler device_compiler_of(std::string_view name) {
  return name == "nvcc" ? DeviceCompiler::nvcc : DeviceCompiler::clang;
}

// nvcc's options for arithmetic in single precision.
struct Arithmetic {
  bool flush_subnormals = false;  // -ftz=true
  bool exact_division = true;     // -prec-div
  bool exact_roots = true;        // -prec-sqrt
  bool contract = true;           // -fmad: multiplications and additions become one instruction
  bool fast_functions = false;    // -use_fast_math: sinf means __sinf
};

}  // namespace fb::toolchain
