#include "cli/program.h"

#include <fmt/format.h>

#include "base/spelling.h"
#include "base/version.h"
#include "cli/style.h"

namespace fb::cli {
namespace {

struct CommandRow {
  const char* group;
  void (*add)(Command&, CommandRun&);
};

std::vector<CommandRow> command_rows() {
  std::vector<CommandRow> all;
  const char* group = "";
#define GROUP(id, heading) group = heading;
#define COMMAND(name) all.push_back({group, add_##name});
#include "cli/commands.def"
  return all;
}

}  // namespace

std::unique_ptr<Command> make_program(CommandRun& command_run) {
  auto program = std::make_unique<Command>("fabricbench", "FabricBench: is this multi-GPU code right, and is it fast?");
  program->set_version(fmt::format("fabricbench {}", version()));
  add_color_option(*program);
  for (const CommandRow& row : command_rows()) {
    program->begin_group(row.group);
    row.add(*program, command_run);
  }
  program->footer(
      "`fabricbench help COMMAND` has the options and examples of a command.\n"
      "Exit codes of all commands: 0 done; 1 the answer is no (not passed, not found, incomplete); 2 wrong usage, "
      "wrong\n"
      "input or a failure of FabricBench itself.");
  return program;
}

std::vector<const Command*> visible_commands(const Command& program) {
  auto commands = program.commands();
  std::erase_if(commands, [](const Command* command) { return command->group().empty(); });
  return commands;
}

std::string unknown_command(const Command& program, const std::string& name) {
  std::vector<std::string> names;
  for (const Command* command : visible_commands(program)) names.push_back(command->name());
  return fmt::format("there is no command '{}' (`fabricbench help` lists them){}", name, did_you_mean(name, names));
}

}  // namespace fb::cli
