#pragma once

// The compiler driver: does what a command line of nvcc asks for.

#include <functional>
#include <string>

#include "common/base/result.h"
#include "toolchain/driver/nvcc_options.h"

namespace fb::toolchain {

struct NvccStreams {
  std::function<void(std::string_view text)> out;  // what the command prints
  std::function<void(std::string_view line)> log;  // -v, notes
};

// Errors name their files themselves. Files that were written before an error stay.
Result<void> run_nvcc(const NvccCommand& command, const NvccStreams& streams);

// What nvcc --version prints, as build systems read it.
std::string nvcc_version_text(const std::string& own_version);
// The table of options.
std::string nvcc_help_text();

}  // namespace fb::toolchain
