#pragma once

#include "machine/exact/cases.h"

namespace fb::cases {

// What the written registers of a case hold afterwards, computed from the manual's words with wide integers and exact
// numbers, by neither engine. An element is empty where PTX leaves the value open; nothing is returned for instructions
// that are not computed here (approximations).
std::optional<std::vector<std::optional<uint64_t>>> evaluate(const Case& c, const Values& in);

}  // namespace fb::cases
