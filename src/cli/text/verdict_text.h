#pragma once

#include <string>

#include "common/record/verdict.h"

namespace fb::cli {

// A verdict for people: what, where, why, how to see it again. `file` is the solution as the user named it.
// `options`: of `check`, that must be given again to replay it, each behind a space.
std::string describe(const record::Verdict& verdict, const std::string& file, const std::string& options = {});

}  // namespace fb::cli
