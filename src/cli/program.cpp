#include "cli/program.h"

#include <fmt/format.h>

#include "base/spelling.h"
#include "base/version.h"
#include "cli/style.h"

namespace fb::cli {
namespace {

struct Row {
  const char* group;
  void (*add)(CLI::App&, CommandRun&);
};

std::vector<Row> rows() {
  std::vector<Row> all;
  const char* group = "";
#define GROUP(id, heading) group = heading;
#define COMMAND(name) all.push_back({group, add_##name});
#include "cli/commands.def"
  return all;
}

}  // namespace

std::unique_ptr<CLI::App> make_program(CommandRun& command_run) {
  auto program =
      std::make_unique<CLI::App>("FabricBench: is this multi-GPU code right, and is it fast?", "fabricbench");
  program->set_version_flag("--version", fmt::format("fabricbench {}", version()));
  add_color_option(*program);
  program->require_subcommand(0, 1);
  program->fallthrough(false);
  for (const Row& row : rows()) {
    const size_t before = program->get_subcommands(nullptr).size();
    row.add(*program, command_run);
    for (size_t k = before; k < program->get_subcommands(nullptr).size(); ++k)
      program->get_subcommands(nullptr)[k]->group(row.group);
  }
  program->footer(
      "`fabricbench help COMMAND` has the options and examples of a command.\n"
      "Exit codes of all commands: 0 done; 1 the answer is no (not passed, not found, incomplete); 2 wrong usage, "
      "wrong\n"
      "input or a failure of FabricBench itself.");
  return program;
}

std::vector<const CLI::App*> visible_commands(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

const CLI::App* find_command(const CLI::App& program, const std::string& name) {
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->check_name(name)) return command;
  }
  return nullptr;
}

std::string unknown_command(const CLI::App& program, const std::string& name) {
  std::vector<std::string> names;
  for (const CLI::App* command : visible_commands(program)) names.push_back(command->get_name());
  return fmt::format("there is no command '{}' (`fabricbench help` lists them){}", name, did_you_mean(name, names));
}

}  // namespace fb::cli
