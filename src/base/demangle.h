#pragma once

#include <string>

namespace fb {

// A C++ name as people write it: "_Z3addPf" is "add(float*)". Other names are returned unchanged.
std::string demangle(const std::string& name);

}  // namespace fb
