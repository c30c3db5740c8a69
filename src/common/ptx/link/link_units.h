#pragma once

// The device code of a program that was compiled file by file (nvcc -dc): one module for each file, linked as nvlink
// does it.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/ptx/module.h"

namespace fb::ptx {

struct LinkUnit {
  std::string name;  // for messages; empty: the first source file that the module names
  Module module;
};

// Whether the machine supplies a function that no unit defines (printf, malloc, mathematical functions).
using IsSupplied = std::function<bool(std::string_view name)>;

// All units as one module; their order decides that of functions, variables and files.
//  - .extern is the .visible, .weak or .common definition of that name in another unit; .extern .shared x[] needs none.
//  - What no kernel reaches, directly or through the initial value of a variable, is dropped, and what it lacks is not
//    missing: libraries bring much that is not used.
//  - Of several definitions the .visible one is taken, else the first .weak, else the largest .common; the others'
//    bodies are dropped. Two .visible ones are an error, and so are a missing definition, a function that is a variable
//    elsewhere, and other sizes of parameters or variables. Each names symbol and units; all are reported.
//  - Names without linkage stay with their unit: the same name may stand in several and means several things.
Result<Module> link_units(std::vector<LinkUnit> units, const IsSupplied& is_supplied);

}  // namespace fb::ptx
