#include "cli/program.h"

#include <fmt/format.h>

#include "cli/text/style.h"
#include "common/base/output.h"
#include "common/base/spelling.h"
#include "common/base/version.h"

namespace fb::cli {
namespace {

enum class Place { front, dev, internal };

struct CommandRow {
  Place place;
  const char* group;
  void (*add)(Command&, CommandRun&);
};

std::vector<CommandRow> command_rows() {
  std::vector<CommandRow> all;
  Place place = Place::front;
  const char* group = "";
#define GROUP(where, heading) place = Place::where, group = heading;
#define COMMAND(name) all.push_back({place, group, add_##name});
#include "cli/commands.def"
  return all;
}

// The position of the first word that is neither an option of the program nor its value.
size_t skip_options(const std::vector<std::string>& words) {
  size_t k = 0;
  while (k < words.size() && words[k].starts_with('-')) k += words[k] == "--color" ? 2 : 1;
  return std::min(k, words.size());
}

}  // namespace

std::unique_ptr<Command> make_program(CommandRun& command_run) {
  auto program = std::make_unique<Command>("fabricbench", "FabricBench: is this multi-GPU code right, and is it fast?");
  program->set_version(fmt::format("fabricbench {}", version()));
  add_color_option(*program);
  program->begin_group("");
  Command& dev =
      program->add_command("dev", "Further commands: compile, ask the models, prove problems, measure, install");
  for (const CommandRow& row : command_rows()) {
    Command& list = row.place == Place::dev ? dev : *program;
    list.begin_group(row.group);
    row.add(list, command_run);
  }
  program->footer(
      "`fabricbench help COMMAND` has the options and examples of a command; `fabricbench dev` lists more commands: "
      "the\n"
      "compiler driver, models of NCCL and cuBLAS, proofs of problems, measurements, completions and man pages.\n\n"
      "Exit codes of all commands: 0 done; 1 the answer is no (not passed, not found, incomplete); 2 wrong usage, "
      "wrong\n"
      "input, output that can't be written, or a failure of FabricBench itself.");
  dev.footer("`fabricbench help dev COMMAND` has the options and examples of a command.");
  return program;
}

const Command& dev_commands(const Command& program) { return *program.find_command("dev"); }

std::vector<const Command*> visible_commands(const Command& list) {
  auto commands = list.commands();
  std::erase_if(commands, [](const Command* command) { return command->group().empty(); });
  return commands;
}

std::vector<const Command*> all_visible_commands(const Command& program) {
  auto all = visible_commands(program);
  const Command& dev = dev_commands(program);
  all.push_back(&dev);
  for (const Command* command : visible_commands(dev)) all.push_back(command);
  return all;
}

Named find_named(const Command& program, const std::vector<std::string>& words) {
  Named named{.command = &program, .end = skip_options(words), .unknown = {}};
  while (named.end < words.size() && !named.command->commands().empty()) {
    const std::string& word = words[named.end];
    const Command* next = named.command->find_command(word);
    if (next == nullptr) {
      if (!word.starts_with('-')) named.unknown = word;
      break;
    }
    named.command = next;
    ++named.end;
  }
  return named;
}

Result<const Command*> find_path(const Command& program, const std::vector<std::string>& words) {
  const Command* command = &program;
  for (const std::string& word : words) {
    const Command* next = command->find_command(word);
    if (next == nullptr && command == &program) next = dev_commands(program).find_command(word);
    if (next == nullptr && command->commands().empty())
      return error(fmt::format("`{}` has no commands, and so none called '{}'", command->path(), word));
    if (next == nullptr) return error(unknown_command(*command, word));
    command = next;
  }
  return command;
}

std::string usage_hint(const Command& command, const std::vector<std::string>& words) {
  std::vector<std::string> known;
  for (const Command* one : {&command, &command.root()}) {
    for (const OptionFacts& option : one->options()) {
      for (const std::string& name : option.long_names) known.push_back("--" + name);
    }
  }
  std::string meant;
  for (const std::string& word : words) {
    const std::string option = word.substr(0, word.find('='));
    if (meant.empty() && option.starts_with("--") && std::ranges::find(known, option) == known.end())
      meant = did_you_mean(option, known);
  }
  return fmt::format("{} (`{} --help` has the options and examples)", meant, command.path());
}

std::string unknown_command(const Command& list, const std::string& name) {
  std::vector<std::string> names;
  for (const Command* command : visible_commands(list)) names.push_back(command->name());
  std::string meant = did_you_mean(name, names);
  if (list.root().find_command(name) != nullptr)
    meant = fmt::format("; did you mean `{} {}`?", list.root().name(), name);
  if (meant.empty() && list.parent() == nullptr) {
    names.clear();
    for (const Command* command : visible_commands(dev_commands(list))) names.push_back("dev " + command->name());
    meant = did_you_mean("dev " + name, names);
  }
  return fmt::format("there is no command '{}' (`{}` lists them){}", name,
                     list.parent() == nullptr ? "fabricbench help" : "fabricbench dev", meant);
}

void rename_old_command(const Command& program, std::vector<std::string>& words) {
  const size_t at = skip_options(words);
  if (at == words.size() || program.find_command(words[at]) != nullptr) return;
  const Command* moved = dev_commands(program).find_command(words[at]);
  if (moved == nullptr) return;
  print_error("note: `fabricbench {}` is `{}` now; the old name goes with 0.7\n", moved->name(), moved->path());
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), "dev");
}

}  // namespace fb::cli
