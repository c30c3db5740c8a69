#pragma once

// From a user's sources to a program that runs on the virtual node.

#include <functional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "toolchain/compile/program_build.h"

namespace fb::toolchain {

// Reads command-line words as nvcc would. Unknown ones are refused by name, with what `unknown` says of the word.
Result<ProgramBuild> parse_compiler_words(const std::vector<std::string>& words,
                                          const std::function<std::string(const std::string&)>& unknown = {});

struct BuiltProgram {
  bool from_cache = false;
  std::string note = {};  // for the user: the cache cannot be written
};

// Writes an executable (or, if `shared`, a shared object) to `output`. The messages of Errors name their file
// themselves ("prog.cu:3:5: …").
Result<BuiltProgram> build_program(const ProgramBuild& request, const std::string& output);

}  // namespace fb::toolchain
