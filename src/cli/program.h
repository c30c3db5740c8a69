#pragma once

// The whole command line, from commands.def. Help, man pages and completions are made from the same object.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace fb::cli {

std::unique_ptr<CLI::App> make_program(CommandRun& command_run);

// The commands that people use, in the order of commands.def.
std::vector<const CLI::App*> visible_commands(const CLI::App& program);

// Nullptr: there is none of this name.
const CLI::App* find_command(const CLI::App& program, const std::string& name);
// Named in an error message: "there is no command 'chekc'; did you mean 'check'?"
std::string unknown_command(const CLI::App& program, const std::string& name);

}  // namespace fb::cli
