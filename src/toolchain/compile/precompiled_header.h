#pragma once

#include <optional>
#include <string>

#include "common/base/result.h"
#include "toolchain/compile/cache.h"
#include "toolchain/compile/compile.h"
#include "toolchain/compile/locate.h"

namespace fb::toolchain {

enum class Side : uint8_t { device, host };

struct PrecompiledHeader {
  std::string file;
  std::string text;  // the file it was made from, which clang checks
};

// cuda_runtime.h and the headers of the standard library and the SDK that the user's files include, precompiled for one
// side and the flags of `unit`; made on first use. `identity` is the hash of compiler and SDK. Nothing if it can't be
// made or the cache keeps nothing: headers are then read as text.
//
// It holds only headers that the user names, so that a missing #include is an error here, too.
std::optional<PrecompiledHeader> precompiled_header(const Cache& cache, const Locations& where,
                                                    const std::string& identity, const DeviceCompile& unit, Side side);

}  // namespace fb::toolchain
