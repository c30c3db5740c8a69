#pragma once

// The border between a driver and a candidate, made from the problem's [interface]. The two are compiled apart: no
// name, macro, template or register of one exists in the other. On the candidate's side plain C functions call its
// class; on the driver's side a class of the same form calls these functions, through pointers on the host, by linking
// on the device (common/ptx/link/link.h).

#include <string>
#include <string_view>
#include <vector>

#include "judge/catalog/problem.h"

namespace fb::judge {

// What driver.cu has between "// [interface]" and "// [/interface]": types of the interface's parameters, for both.
std::string shared_types(std::string_view driver);
// driver.cu without them, line by line where it was.
std::string without_shared_types(std::string_view driver);

// Behind a candidate's class.
std::string candidate_side(const catalog::Interface& interface);
// Before a driver: the class that stands for Solution there. Sizes of its objects come as macros (object_macros).
std::string driver_side(const catalog::Interface& interface);

// What a candidate's object exports, by the linker's name.
std::vector<std::string> border_symbols(const catalog::Interface& interface);

// Bytes and alignment of an object, as the candidate's device code states them in a variable of this name.
std::string size_variable(std::string_view object);
std::vector<std::string> object_macros(std::string_view object, uint64_t bytes, uint64_t alignment);

}  // namespace fb::judge
