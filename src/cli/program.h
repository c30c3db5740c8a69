#pragma once

// The whole command line, from commands.def. Help, man pages and completions are made from the same object.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "common/base/result.h"

namespace fb::cli {

std::unique_ptr<Command> make_program(CommandRun& command_run);

// The commands that `fabricbench dev` has.
const Command& dev_commands(const Command& program);

// The commands that people use, in the order of commands.def: those of `list` itself, the program or `dev`.
std::vector<const Command*> visible_commands(const Command& list);
// Those of the program, `dev`, and those of `dev`.
std::vector<const Command*> all_visible_commands(const Command& program);

// The command that a command line names.
struct Named {
  const Command* command;
  size_t end = 0;       // the words up to here name it, with the program's own options
  std::string unknown;  // the word that should have named a command; empty: there is none
};
Named find_named(const Command& program, const std::vector<std::string>& words);
// As arguments of help and man: {"check"}, {"dev", "prove"}, and {"prove"} as it was called before. Errors: there is
// none of this name.
Result<const Command*> find_path(const Command& program, const std::vector<std::string>& words);

// Named in an error message: "there is no command 'chekc'; did you mean 'check'?" `list`: the program, or `dev`.
std::string unknown_command(const Command& list, const std::string& name);

// Behind the message of wrong usage: the option that was meant, if one was misspelt, and where options and examples
// are.
std::string usage_hint(const Command& command, const std::vector<std::string>& words);

// Commands that moved to `dev` are still found where they were, and a line on standard error says where they are.
void rename_old_command(const Command& program, std::vector<std::string>& words);

}  // namespace fb::cli
