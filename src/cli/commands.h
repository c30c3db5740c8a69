#pragma once

// The commands (commands.def), one function each that adds the command to the program. Its callback sets
// `command_run.exit_code`.

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace fb::cli {

// 0: done; 1: the answer is no (not passed, not supported); 2: wrong usage, wrong input, or a failure of ours.
inline constexpr int kExitDone = 0;
inline constexpr int kExitNo = 1;
inline constexpr int kExitUsage = 2;

// One run of the command line program.
struct CommandRun {
  int exit_code = kExitUsage;
  std::vector<std::string> program_arguments = {};  // what follows "--": the arguments of the program that exec runs
  std::vector<std::string> nvcc_words = {};         // what follows nvcc: its own command line
};

#define GROUP(place, heading)
#define COMMAND(name) void add_##name(Command& program, CommandRun& command_run);
#include "cli/commands.def"

}  // namespace fb::cli
