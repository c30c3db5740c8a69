#pragma once

#include <string>

namespace fb {

// A C++ name as people write it: "_Z3addPf" is "add(float*)". Names that are none come back as they are.
std::string demangle(const std::string& name);

}  // namespace fb
