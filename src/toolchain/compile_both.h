#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "toolchain/cache.h"
#include "toolchain/compile.h"
#include "toolchain/locate.h"

namespace fb::toolchain {

// One source file as an object that carries its device side.
struct BothCompile {
  DeviceCompile unit = {};
  std::vector<std::string> host_only_flags = {};
  // In a folder of the caller's: writes STEM.o, STEM.host.d and STEM.device.d, and others that may be removed.
  std::string stem = {};
};

// Compiles both sides at once, with headers that are compiled ahead where the cache keeps them. `identity` is that of
// `where`. Errors as those of compile_to_ptx.
Result<void> compile_both(const BothCompile& request, const Cache& cache, const Locations& where,
                          const std::string& identity);

}  // namespace fb::toolchain
