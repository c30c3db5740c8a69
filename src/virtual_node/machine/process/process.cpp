#include "virtual_node/machine/process/process.h"

#include <fmt/format.h>

namespace fb::machine {

std::string name_of(const Process& process) {
  return process.rank >= 0 ? fmt::format("rank {}", process.rank) : fmt::format("process {}", process.number);
}

}  // namespace fb::machine
