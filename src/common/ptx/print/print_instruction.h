#pragma once

#include <string>

#include "common/ptx/module.h"

namespace fb::ptx {

class FunctionNames;

// Without names given, registers and labels print as they were written.
void print_to(std::string& out, const Module& module, const Function& function, const Instruction& instruction,
              const FunctionNames* names);
void print_to(std::string& out, const Module& module, const Function& function, const Operand& operand,
              const FunctionNames* names);

}  // namespace fb::ptx
