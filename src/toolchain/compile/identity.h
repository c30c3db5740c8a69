#pragma once

#include <string>

#include "toolchain/compile/locate.h"

namespace fb::toolchain {

// Hash of compiler, SDK, CCCL and this program, which every result depends on besides its source and flags.
std::string identity_of(const Locations& where);

// Tells two states of a file apart without reading it.
std::string file_facts(const std::string& path);

}  // namespace fb::toolchain
