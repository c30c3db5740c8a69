#pragma once

// nvcc's command line.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "toolchain/driver/program.h"

namespace fb::toolchain {

// What the command makes.
enum class NvccPhase : uint8_t {
  link,          // a program, or with -shared a shared object
  compile,       // -c, -dc, -dw: an object of each source
  device_link,   // -dlink: the object that registers device code of several files
  library,       // -lib: a static library
  ptx,           // -ptx, -fatbin: the device side as text
  preprocess,    // -E
  dependencies,  // -M, -MM
};

struct NvccCommand {
  NvccPhase phase = NvccPhase::link;
  ProgramBuild build = {};
  std::string output = {}, output_dir = {};
  bool fatbin = false;
  bool version = false, help = false, list_architectures = false, list_code = false;
  bool verbose = false, dry_run = false;
  // Rules for make.
  bool write_dependencies = false;  // besides the object
  bool system_dependencies = false;
  bool phony_targets = false;
  std::string dependency_file = {}, dependency_target = {};
  // Options that nvcc does not have go to the host's compiler or linker.
  bool forward_to_compiler = false, forward_to_linker = false;
  std::vector<std::string> archiver_options = {};
  std::vector<std::string> architectures = {};  // of -arch, -code and -gencode, as they were given
  std::string host_compiler = {};               // -ccbin
};

// How the value of an option is given.
enum class NvccValue : uint8_t {
  none,
  one,    // -x cu, -x=cu
  list,   // the same, with several separated by commas; may be given again
  glued,  // also -O3, -Iinclude
};

// One row of the table.
struct NvccOption {
  std::string_view name;   // --compile
  std::string_view brief;  // -c; empty: none
  NvccValue value;
  // Returns what is wrong; empty: nothing.
  std::function<std::string(NvccCommand& command, const std::string& value)> act;
  std::string_view effect;  // for help and documentation
};
const std::vector<NvccOption>& nvcc_options();

// `words` with response files and NVCC_PREPEND_FLAGS, NVCC_APPEND_FLAGS (the two strings) in their places.
Result<std::vector<std::string>> expand_words(const std::vector<std::string>& words, const std::string& prepended,
                                              const std::string& appended);
// Whether all files of the command line are sources, objects or libraries.
Result<void> check_files(const ProgramBuild& build);
// Unknown options and wrong values are errors that name them.
Result<NvccCommand> parse_nvcc_words(const std::vector<std::string>& words);

}  // namespace fb::toolchain
