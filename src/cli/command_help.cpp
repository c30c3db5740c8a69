#include <fmt/format.h>

#include <memory>

#include "cli/failure.h"
#include "cli/program.h"

namespace fb::cli {
namespace {

int help(const Command& program, const std::string& name) {
  const Command* command = name.empty() ? &program : program.find_command(name);
  if (command == nullptr) return fail(unknown_command(program, name));
  fmt::print("{}", command->help());
  return kExitDone;
}

}  // namespace

void add_help(Command& program, CommandRun& command_run) {
  auto name = std::make_shared<std::string>();
  Command& command = program.add_command("help", "Show what the commands are, or the options of one");
  command.footer("Examples:\n  fabricbench help\n  fabricbench help check");
  command.add_option("COMMAND", *name, "Name of a command");
  command.callback([&program, &command_run, name] { command_run.exit_code = help(program, *name); });
}

}  // namespace fb::cli
