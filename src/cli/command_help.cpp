#include <memory>

#include "cli/program.h"
#include "cli/text/failure.h"
#include "common/base/output.h"

namespace fb::cli {
namespace {

int help(const Command& program, const std::vector<std::string>& names) {
  const auto command = find_path(program, names);
  if (!command) return fail(command.error());
  print_out("{}", (*command)->help());
  return kExitDone;
}

}  // namespace

void add_help(Command& program, CommandRun& command_run) {
  auto names = std::make_shared<std::vector<std::string>>();
  Command& command = program.add_command("help", "Show what the commands are, or the options of one");
  command.footer("Examples:\n  fabricbench help\n  fabricbench help check\n  fabricbench help dev prove");
  command.add_option("COMMAND", *names, "Name of a command");
  command.callback([&program, &command_run, names] { command_run.exit_code = help(program, *names); });
}

}  // namespace fb::cli
