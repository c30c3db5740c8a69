#pragma once

#include <cstdint>
#include <span>
#include <string_view>

// The C library functions that the machine supplies to guest code: compilers leave `expf` and its like as calls to
// external functions.
namespace fb::num {

// One function and the thunk that calls it on raw register contents.
//
// signature: the result, then the parameters: v nothing, f float, d double, i 32-bit, l 64-bit integer; F D I are guest
// pointers to a float, double, int that the function writes: `frexpf` is "ffI", `sincos` is "vdDD".
//
// call(args, result, outs): args has one 64-bit slot per parameter, value in the low bits (the slot of a pointer is not
// read); *result gets the result, zero-extended; outs[k] gets what the k-th pointer parameter points to. The caller
// stores outs to guest memory, since only it knows guest addresses.
struct DeviceFunction {
  std::string_view name;
  std::string_view signature;
  void (*call)(const uint64_t* args, uint64_t* result, uint64_t* outs);
};

// No function has more.
inline constexpr int kMaxDeviceArguments = 4;
inline constexpr int kMaxDeviceOutputs = 2;

// All of them, ordered by name.
//
// Every float function is its double counterpart rounded to float, so hosts whose double libm differs in the last bit
// still agree on all but about one float result in 2^28; double results may differ by an ulp between C libraries.
// NaN results are canonical: 0x7fffffff and 0xfff8000000000000.
std::span<const DeviceFunction> device_functions();

// Null if there is none of that name.
const DeviceFunction* find_device_function(std::string_view name);

}  // namespace fb::num
