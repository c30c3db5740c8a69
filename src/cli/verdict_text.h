#pragma once

#include <string>

#include "record/verdict.h"

namespace fb::cli {

// A verdict for people: what, where, why, how to see it again. `file` is the solution as the user named it.
std::string describe(const record::Verdict& verdict, const std::string& file);

}  // namespace fb::cli
