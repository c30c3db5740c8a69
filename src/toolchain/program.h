#pragma once

// From a user's sources to a program that runs on the virtual node.

#include <string>
#include <vector>

#include "base/result.h"

namespace fb::toolchain {

// What a user would pass to nvcc.
struct ProgramBuild {
  std::vector<std::string> sources = {};  // .cu, .cpp, .cc, .cxx, .o, .a
  std::vector<std::string> include_dirs = {};
  std::vector<std::string> defines = {};
  std::vector<std::string> library_dirs = {};
  std::vector<std::string> libraries = {};    // names without lib and .so; cuda and cudart are always linked
  std::vector<std::string> extra_flags = {};  // for the host compiler and the linker
  std::string standard = "c++17";             // nvcc's default
  int optimisation = 2;
  std::string gpu_arch = "sm_90";
  bool mpi = false;
  bool use_cache = true;
};

// Reads command-line words as nvcc would. Unknown ones are refused by name.
Result<ProgramBuild> parse_compiler_words(const std::vector<std::string>& words);

struct BuiltProgram {
  bool from_cache = false;
  std::string note = {};  // for the user: the cache cannot be written
};

// Writes an executable to `output`. The messages of Errors name their file themselves ("prog.cu:3:5: …").
Result<BuiltProgram> build_program(const ProgramBuild& request, const std::string& output);

}  // namespace fb::toolchain
