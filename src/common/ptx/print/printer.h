#pragma once

#include <string>

#include "common/ptx/module.h"

namespace fb::ptx {

// PTX text that parses back to an equal module.
std::string print(const Module& module);

// One instruction as the manual would write it; for messages and traces.
std::string print(const Module& module, const Function& function, const Instruction& instruction);

}  // namespace fb::ptx
