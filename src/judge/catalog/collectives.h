#pragma once

// The operations of nccl-tests that a problem may be (`collective` in problem.toml): the rows of
// common/api/nccl_ops.def.

#include <span>
#include <string>
#include <string_view>

namespace fb::catalog {

struct Collective {
  std::string_view name;
  std::string bus_factor;  // busbw ÷ algbw, as an expression of C++ over `world`
};

std::span<const Collective> collectives();
const Collective* find_collective(std::string_view name);

}  // namespace fb::catalog
