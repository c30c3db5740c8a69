#pragma once

#include <string_view>

#include "common/base/result.h"
#include "common/ptx/module.h"

namespace fb::ptx {

// Reads PTX text and checks it (names, forms, operand kinds and register widths). Every error carries its line and
// column, and for instructions the form it was held against; parsing goes on after an error to report more than one.
// An unknown instruction form is an error here, before anything runs. Safe on hostile input.
Result<Module> parse(std::string_view text);

}  // namespace fb::ptx
