#pragma once

// Locates files that are installed with the program: beside it, or in the source tree that it was built from.

#include <string>
#include <string_view>

#include "common/base/result.h"

namespace fb {

// The path of the running program.
std::string own_program();
// A path relative to the folder of the running program, such as "../lib".
std::string beside_program(std::string_view path);

// The value of an environment variable; empty if it is not set.
std::string environment(const char* name);

// A folder of <prefix>/share/fabricbench. An environment variable may name another one, which
// must then be valid.
struct SharedFolder {
  const char* variable;  // FABRICBENCH_…
  const char* name;      // below share/fabricbench
  const char* source;    // in the source tree; empty: none
  const char* sign;      // a file that every such folder has
  const char* kind;      // "pack of problems", for messages
  const char* them;      // "the problems", for messages
};
Result<std::string> locate(const SharedFolder& folder);

// A program of FabricBench beside the running one, or the one that an environment variable names.
Result<std::string> locate_program(const char* variable, const char* name);

}  // namespace fb
