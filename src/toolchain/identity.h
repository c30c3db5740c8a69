#pragma once

#include <string>

#include "toolchain/locate.h"

namespace fb::toolchain {

// Hash of compiler and SDK: what every result depends on besides its source and its flags.
std::string identity_of(const Locations& where);

}  // namespace fb::toolchain
