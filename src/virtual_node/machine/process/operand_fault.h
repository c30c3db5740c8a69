#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "virtual_node/mem/address_space.h"

namespace fb::machine {

// Why an operand of a library's call can't be used: it goes beyond the end of its memory, or is no memory at all.
std::string explain_operand(const mem::AddressSpace& space, std::string_view what, mem::Address address, uint64_t bytes,
                            uint32_t device);

}  // namespace fb::machine
