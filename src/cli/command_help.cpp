#include <fmt/format.h>

#include <memory>

#include "cli/failure.h"
#include "cli/program.h"

namespace fb::cli {
namespace {

int help(const CLI::App& program, const std::string& name) {
  const CLI::App* command = name.empty() ? &program : find_command(program, name);
  if (command == nullptr) return fail(unknown_command(program, name));
  // App::help() would describe the command that was invoked, which is this one.
  const std::string name_above = command == &program ? "fabricbench" : "fabricbench " + command->get_name();
  fmt::print("{}", command->get_formatter()->make_help(command, name_above, CLI::AppFormatMode::Normal));
  return kExitDone;
}

}  // namespace

void add_help(CLI::App& program, CommandRun& command_run) {
  auto name = std::make_shared<std::string>();
  auto* command = program.add_subcommand("help", "Show what the commands are, or the options of one");
  command->footer("Examples:\n  fabricbench help\n  fabricbench help check");
  command->add_option("COMMAND", *name, "Name of a command");
  command->callback([&program, &command_run, name] { command_run.exit_code = help(program, *name); });
}

}  // namespace fb::cli
