#pragma once

// The machine names memory by number; a verdict speaks the problem's language.

#include <string>

#include "judge/catalog/problem.h"

namespace fb::judge {

// "tensor 1 of rank 2 #2000002 of device 2" is "`out` of rank 2".
std::string in_words_of(const catalog::Problem& problem, const std::string& text);

}  // namespace fb::judge
