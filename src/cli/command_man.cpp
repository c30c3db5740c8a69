// Manual pages in man(7)'s macros, made from the command table: fabricbench(1), fabricbench-COMMAND(1) for each
// command, fabricbench-dev(1) and fabricbench-dev-COMMAND(1).

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/program.h"
#include "cli/text/failure.h"
#include "cli/text/text.h"
#include "common/base/output.h"
#include "common/base/strings.h"
#include "common/base/version.h"

namespace fb::cli {
namespace {

namespace fs = std::filesystem;

// Text is not markup: backslashes, and a dot or quote at the beginning of a line, are escaped; hyphens stay hyphens, so
// that options can be copied.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n'))
      result += std::string("\\&") + c;
    else
      result += c;
  }
  return result;
}

std::string header(const std::string& page, std::string_view description) {
  return fmt::format(".TH {} 1 \"\" \"FabricBench {}\" \"FabricBench\"\n.SH NAME\n{} \\- {}\n", to_upper(page),
                     version(), escaped(page), escaped(description));
}

std::string options_text(const Command& command, bool positional) {
  std::string text;
  for (const OptionFacts& option : command.options()) {
    if (option.positional != positional || option.hidden) continue;
    std::string name = option.names;
    if (!positional && option.takes_value) name += fmt::format(" {}", option.type.empty() ? "VALUE" : option.type);
    text += fmt::format(".TP\n.B {}\n{}", escaped(name), escaped(option.description));
    if (!option.default_text.empty()) text += fmt::format(" (default: {})", escaped(option.default_text));
    text += "\n";
  }
  return text;
}

// "fabricbench-dev-prove"
std::string page_name(const Command& command) { return replace_all(command.path(), " ", "-"); }

std::string command_page(const Command& command) {
  std::string text = header(page_name(command), command.description());
  std::string synopsis = fmt::format(".B {}\n[OPTIONS]", command.path());
  for (const OptionFacts& option : command.options()) {
    if (option.positional)
      synopsis += fmt::format(fmt::runtime(option.required ? " {}" : " [{}]"), escaped(option.names));
  }
  text += ".SH SYNOPSIS\n" + synopsis + "\n";
  if (const std::string arguments = options_text(command, true); !arguments.empty())
    text += ".SH ARGUMENTS\n" + arguments;
  if (const std::string options = options_text(command, false); !options.empty()) text += ".SH OPTIONS\n" + options;
  if (const std::string footer = command.footer(); !footer.empty())
    text += ".SH NOTES\n.nf\n" + escaped(footer) + "\n.fi\n";
  return text + ".SH SEE ALSO\n.BR fabricbench (1)\n";
}

// Of the program, or of `dev`.
std::string list_page(const Command& list) {
  std::string text = header(page_name(list), list.description());
  text +=
      fmt::format(".SH SYNOPSIS\n.B {}\n[OPTIONS] COMMAND\n.SH OPTIONS\n{}", list.path(), options_text(list, false));
  std::string group;
  for (const Command* command : visible_commands(list)) {
    if (command->group() != group) text += fmt::format(".SH {}\n", to_upper(group = command->group()));
    text += fmt::format(".TP\n.BR {} (1)\n{}\n", escaped(page_name(*command)), escaped(command->description()));
  }
  return text + ".SH NOTES\n.nf\n" + escaped(list.footer()) + "\n.fi\n";
}

std::string page_of(const Command& command) {
  return command.commands().empty() ? command_page(command) : list_page(command);
}

int write_pages(const Command& program, const std::string& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return fail(fmt::format("cannot make the folder {}: {}", folder, failed.message()));
  write_file(folder + "/fabricbench.1", page_of(program));
  for (const Command* command : all_visible_commands(program))
    write_file(fmt::format("{}/{}.1", folder, page_name(*command)), page_of(*command));
  return kExitDone;
}

int show_page(const Command& program, const std::vector<std::string>& names) {
  const auto command = find_path(program, names);
  if (!command) return fail(command.error());
  print_out("{}", page_of(**command));
  return kExitDone;
}

}  // namespace

void add_man(Command& program, CommandRun& command_run) {
  struct ManOptions {
    std::vector<std::string> names;
    std::string out;
  };
  auto options = std::make_shared<ManOptions>();
  Command& command = program.add_command("man", "Print a manual page, or write all of them into a folder");
  command.footer(
      "Examples:\n"
      "  fabricbench dev man check | man -l -\n"
      "  fabricbench dev man --out ~/.local/share/man/man1");
  command.add_option("COMMAND", options->names, "Name of a command (default: the page of fabricbench itself)");
  command.add_option("--out", options->out, "Write the pages of all commands into this folder").output_folder();
  command.callback([options, &program = program.root(), &command_run] {
    command_run.exit_code =
        options->out.empty() ? show_page(program, options->names) : write_pages(program, options->out);
  });
}

}  // namespace fb::cli
