// Completion scripts, made from the command table: commands, their options, and names of problems where a command takes
// one (asked from `fabricbench list --names` when the key is pressed, so that new problems are known).

#include <fmt/format.h>

#include <memory>

#include "cli/program.h"
#include "cli/text/text.h"
#include "common/base/output.h"

namespace fb::cli {
namespace {

// True for commands whose arguments are names of problems.
bool takes_problems(const Command& command) {
  for (const OptionFacts& option : command.options()) {
    if (!option.positional) continue;
    const std::string name = to_lower(option.names);
    if (name == "problem" || name == "problems" || name == "glob") return true;
  }
  return false;
}

std::vector<std::string> long_options(const Command& command) {
  std::vector<std::string> names;
  for (const OptionFacts& option : command.options()) {
    for (const std::string& name : option.long_names) names.push_back("--" + name);
  }
  return names;
}

// As one word of a shell's case: "check", "dev prove".
std::string shell_name(const Command& command) { return command.path().substr(command.root().name().size() + 1); }

std::string names_of(const Command& list) {
  std::string names;
  for (const Command* command : visible_commands(list)) names += (names.empty() ? "" : " ") + command->name();
  return names;
}

// "'check'|'dev prove'"
std::string with_problems(const Command& program) {
  std::string names;
  for (const Command* command : all_visible_commands(program)) {
    if (takes_problems(*command)) names += fmt::format("{}'{}'", names.empty() ? "" : "|", shell_name(*command));
  }
  return names;
}

constexpr const char* kBash = R"sh(# bash completion for fabricbench, made by `fabricbench dev completion bash`
_fabricbench() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} commands="{commands} dev" dev="{dev}" words= at=1
  COMPREPLY=()
  if [[ $command == dev ]]; then
    at=2
    command="dev ${{COMP_WORDS[2]}}"
  fi
  if (( COMP_CWORD < at || (COMP_CWORD == at && at == 1) )); then
    COMPREPLY=($(compgen -W "$commands" -- "$word"))
    return
  fi
  if (( COMP_CWORD == at )); then
    COMPREPLY=($(compgen -W "$dev" -- "$word"))
    return
  fi
  if [[ $word == -* ]]; then
    case $command in
{options}    esac
  else
    case $command in
    {with_problems}) words=$(fabricbench list --names 2>/dev/null) ;;
    help|'dev man')
      words=$commands
      if [[ ${{COMP_WORDS[COMP_CWORD-1]}} == dev ]]; then words=$dev; fi
      ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))
}}
complete -o filenames -F _fabricbench fabricbench
)sh";

std::string bash(const Command& program) {
  std::string options;
  for (const Command* command : all_visible_commands(program))
    options += fmt::format("    '{}') words=\"{}\" ;;\n", shell_name(*command), fmt::join(long_options(*command), " "));
  return fmt::format(fmt::runtime(kBash), fmt::arg("commands", names_of(program)),
                     fmt::arg("dev", names_of(dev_commands(program))), fmt::arg("options", options),
                     fmt::arg("with_problems", with_problems(program)));
}

constexpr const char* kZsh = R"sh(#compdef fabricbench
# zsh completion for fabricbench, made by `fabricbench dev completion zsh`
_fabricbench() {{
  local -a commands dev options
  local command=$words[2]
  commands=(
{commands}  )
  dev=(
{dev}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  if [[ $command == dev ]]; then
    if (( CURRENT == 3 )); then
      _describe command dev
      return
    fi
    command="dev $words[3]"
  fi
  if [[ $PREFIX == -* ]]; then
    case $command in
{options}    esac
    compadd -- $options
  else
    case $command in
    {with_problems}) compadd -- $(fabricbench list --names 2>/dev/null) ;;
    esac
    _files
  fi
}}
_fabricbench "$@"
)sh";

// For a word in single quotes.
std::string single_quoted(const std::string& text) { return "'" + replace_all(text, "'", "'\\''") + "'"; }

std::string zsh_rows(const std::vector<const Command*>& commands) {
  std::string rows;
  for (const Command* command : commands)
    rows +=
        fmt::format("    {}\n", single_quoted(command->name() + ":" + replace_all(command->description(), ":", "\\:")));
  return rows;
}

std::string zsh(const Command& program) {
  std::string options;
  for (const Command* command : all_visible_commands(program))
    options += fmt::format("    '{}') options=({}) ;;\n", shell_name(*command), fmt::join(long_options(*command), " "));
  auto front = visible_commands(program);
  front.push_back(&dev_commands(program));
  return fmt::format(fmt::runtime(kZsh), fmt::arg("commands", zsh_rows(front)),
                     fmt::arg("dev", zsh_rows(visible_commands(dev_commands(program)))), fmt::arg("options", options),
                     fmt::arg("with_problems", with_problems(program)));
}

// One command's rows; `given`: fish's condition that the command line names it.
std::string fish_rows(const Command& command, const std::string& offered, const std::string& given) {
  std::string text = fmt::format("complete -c fabricbench -n '{}' -a {} -d {}\n", offered, command.name(),
                                 single_quoted(command.description()));
  for (const OptionFacts& option : command.options()) {
    for (const std::string& word : option.long_names)
      text +=
          fmt::format("complete -c fabricbench -n '{}' -l {} -d {}\n", given, word, single_quoted(option.description));
  }
  if (takes_problems(command))
    text += fmt::format("complete -c fabricbench -n '{}' -a '(fabricbench list --names 2>/dev/null)'\n", given);
  return text;
}

std::string fish(const Command& program) {
  const Command& dev = dev_commands(program);
  std::string text = "# fish completion for fabricbench, made by `fabricbench dev completion fish`\n";
  for (const Command* command : visible_commands(program))
    text += fish_rows(
        *command, "__fish_use_subcommand",
        fmt::format("__fish_seen_subcommand_from {}; and not __fish_seen_subcommand_from dev", command->name()));
  text +=
      fish_rows(dev, "__fish_use_subcommand",
                fmt::format("__fish_seen_subcommand_from dev; and not __fish_seen_subcommand_from {}", names_of(dev)));
  for (const Command* command : visible_commands(dev))
    text += fish_rows(
        *command, fmt::format("__fish_seen_subcommand_from dev; and not __fish_seen_subcommand_from {}", names_of(dev)),
        fmt::format("__fish_seen_subcommand_from dev; and __fish_seen_subcommand_from {}", command->name()));
  return text;
}

}  // namespace

void add_completion(Command& program, CommandRun& command_run) {
  auto shell = std::make_shared<std::string>();
  Command& command = program.add_command("completion", "Print a completion script for a shell");
  command.footer(
      "Examples:\n"
      "  source <(fabricbench dev completion bash)                                       this shell\n"
      "  fabricbench dev completion fish > ~/.config/fish/completions/fabricbench.fish   always\n"
      "  fabricbench dev completion zsh > ~/.zfunc/_fabricbench                          with ~/.zfunc in fpath");
  command.add_option("SHELL", *shell, "bash, zsh or fish").required().check(one_of({"bash", "zsh", "fish"}));
  command.callback([shell, &program = program.root(), &command_run] {
    print_out("{}", *shell == "bash" ? bash(program) : *shell == "zsh" ? zsh(program) : fish(program));
    command_run.exit_code = kExitDone;
  });
}

}  // namespace fb::cli
