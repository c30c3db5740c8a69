#pragma once

// What a program is made of, and how.

#include <chrono>
#include <string>
#include <vector>

#include "toolchain/compile/device_compiler.h"

namespace fb::toolchain {

// What a user would pass to nvcc.
struct ProgramBuild {
  std::vector<std::string> sources = {};  // .cu, .cpp, .cc, .cxx, .c, .o, .a, .so
  std::string language = {};              // of all sources: cu, c++ or c; empty: by the ending
  std::vector<std::string> include_dirs = {};
  std::vector<std::string> defines = {};
  std::vector<std::string> library_dirs = {};
  std::vector<std::string> libraries = {};      // names without lib and .so; cuda and cudart are always linked
  std::vector<std::string> extra_flags = {};    // for the host compiler and the linker
  std::vector<std::string> compile_flags = {};  // for both sides of a source
  std::vector<std::string> link_flags = {};     // for the linker alone
  std::string cccl = {};                        // folder of a CCCL in place of the system's
  std::string standard = {};                    // empty: nvcc's default
  int optimisation = 2;
  std::string gpu_arch = {};   // empty: sm_90
  uint32_t max_registers = 0;  // -maxrregcount; 0: not given
  DeviceCompiler device_compiler = DeviceCompiler::clang;
  Arithmetic arithmetic = {};
  bool relocatable = false;  // -rdc=true: device code may refer to that of other files
  bool device_link = true;   // false: -nodlink, the device code has been linked before
  bool runtime = true;       // false: -cudart none
  bool shared = false;       // a shared object
  bool mpi = false;
  std::string mpi_compiler = "mpicxx";  // asked for MPI's flags
  bool use_cache = true;
  std::chrono::seconds time_limit{600};  // of each compiler and linker
};

// Host code of programs that use network cards is built so that it reports its accesses to registered memory.
bool observes(const ProgramBuild& request);

}  // namespace fb::toolchain
