#pragma once

// From a PTX module to a program that warps can run. Each step removes a feature of the language: virtual registers
// become rows, variables become addresses, labels become pointers, forms become functions.

#include <memory>

#include "common/base/result.h"
#include "virtual_node/simt/inst.h"
#include "virtual_node/simt/lower/lower_options.h"

namespace fb::simt {

// The module must outlive the program. Errors name every form that is not supported, with its line: nothing is
// refused later, at run time, that can be refused here.
Result<std::unique_ptr<Program>> lower(const ptx::Module& module, const LowerOptions& options);

}  // namespace fb::simt
