#pragma once

// Where things are that come with the program: beside it, installed or built, or in the source tree it was built from.

#include <string>
#include <string_view>

#include "base/result.h"

namespace fb {

// The path of the running program.
std::string own_program();
// Another program or folder by its path from the folder of the running one, as "../lib".
std::string beside_program(std::string_view path);

// A variable of the environment; empty where there is none.
std::string environment(const char* name);

// A folder of <prefix>/share/fabricbench. A variable may name another one, which then must be right.
struct SharedFolder {
  const char* variable;  // FABRICBENCH_…
  const char* name;      // below share/fabricbench
  const char* source;    // in the source tree; empty: it is not there
  const char* sign;      // a file that such a folder has
  const char* kind;      // "pack of problems", for messages
  const char* them;      // "the problems"
};
Result<std::string> locate(const SharedFolder& folder);

// A program of ours that stands beside the running one, or that a variable names.
Result<std::string> locate_program(const char* variable, const char* name);

}  // namespace fb
