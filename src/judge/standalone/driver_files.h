#pragma once

// The driver of a problem beside a solution in one translation unit: no border between them (judge/answer/border.h), as
// there is nothing to win here.

#include <string>

#include "judge/catalog/problem.h"

namespace fb::standalone {

// Headers and types that a solution relies on.
std::string interface_header(const catalog::Problem& problem);
// The driver, behind a class that stands for Solution there and names the objects that go to kernels.
std::string driver_source(const catalog::Problem& problem);

}  // namespace fb::standalone
