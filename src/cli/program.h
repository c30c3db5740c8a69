#pragma once

// The whole command line, from commands.def. Help, man pages and completions are made from the same object.

#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"

namespace fb::cli {

std::unique_ptr<Command> make_program(CommandRun& command_run);

// The commands that people use, in the order of commands.def.
std::vector<const Command*> visible_commands(const Command& program);

// Named in an error message: "there is no command 'chekc'; did you mean 'check'?"
std::string unknown_command(const Command& program, const std::string& name);

}  // namespace fb::cli
