#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "toolchain/cache.h"
#include "toolchain/compile.h"
#include "toolchain/locate.h"

namespace fb::toolchain {

enum class Side : uint8_t { device, host };

struct PrecompiledHeader {
  std::string file;
  std::string text;  // the file it was made of, which clang looks at
};

// cuda_runtime.h and the headers of the standard library and the SDK that the user's files include, compiled ahead for
// one side and the flags of `unit`; made on first use. `identity` is the hash of compiler and SDK. Nothing where it
// can't be made or the cache keeps nothing: then headers are read as text.
//
// Only headers that the user names are in it, so that a missing #include is missed here as elsewhere.
std::optional<PrecompiledHeader> precompiled_header(const Cache& cache, const Locations& where,
                                                    const std::string& identity, const DeviceCompile& unit, Side side);

}  // namespace fb::toolchain
