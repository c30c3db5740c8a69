#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "toolchain/compile/cache.h"
#include "toolchain/compile/compile.h"
#include "toolchain/compile/locate.h"

namespace fb::toolchain {

// One source file as an object that carries its device side.
struct BothCompile {
  DeviceCompile unit = {};
  std::vector<std::string> host_only_flags = {};
  // Path prefix in a folder of the caller: writes STEM.o, STEM.host.d, STEM.device.d, and temporary files.
  std::string stem = {};
};

// Compiles both sides in parallel, with precompiled headers if the cache keeps entries. `identity` is that of `where`.
// Returns the PTX; empty for a source without a device side. Errors as in compile_to_ptx.
Result<std::string> compile_both(const BothCompile& request, const Cache& cache, const Locations& where,
                                 const std::string& identity);

// The PTX of a source that no object is wanted of. Both sides are compiled, since what is wrong with one may change how
// the other is compiled.
Result<std::string> ptx_of(const DeviceCompile& unit);

}  // namespace fb::toolchain
