#pragma once

#include <string>

namespace fb {

// A C++ name as people write it: "_Z3addPf" is "add(float*)". Other names are returned unchanged.
std::string demangle(const std::string& name);

// Of a demangled function its name with template arguments, without result and parameters: "void f<int>(int*)" is
// "f<int>".
std::string short_function_name(std::string name);

}  // namespace fb
