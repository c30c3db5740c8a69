// Completion scripts, made from the command table: commands, their options, and names of problems where a command takes
// one (asked from `fabricbench list --names` when the key is pressed, so that new problems are known).

#include <fmt/format.h>

#include <memory>

#include "cli/program.h"
#include "cli/text.h"

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

constexpr const char* kBash = R"sh(# bash completion for fabricbench, made by `fabricbench completion bash`
_fabricbench() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} commands="{commands}" words=
  COMPREPLY=()
  if [[ $COMP_CWORD == 1 ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$word"))
    return
  fi
  if [[ $word == -* ]]; then
    case $command in
{options}    esac
  else
    case $command in
    {with_problems}) words=$(fabricbench list --names 2>/dev/null) ;;
    help|man) words=$commands ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))
}}
complete -o filenames -F _fabricbench fabricbench
)sh";

std::string bash(const Command& program) {
  std::string commands, options, with_problems;
  for (const Command* command : visible_commands(program)) {
    const std::string& name = command->name();
    commands += (commands.empty() ? "" : " ") + name;
    options += fmt::format("    {}) words=\"{}\" ;;\n", name, fmt::join(long_options(*command), " "));
    if (takes_problems(*command)) with_problems += (with_problems.empty() ? "" : "|") + name;
  }
  return fmt::format(fmt::runtime(kBash), fmt::arg("commands", commands), fmt::arg("options", options),
                     fmt::arg("with_problems", with_problems));
}

constexpr const char* kZsh = R"sh(#compdef fabricbench
# zsh completion for fabricbench, made by `fabricbench completion zsh`
_fabricbench() {{
  local -a commands options
  commands=(
{commands}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  if [[ $PREFIX == -* ]]; then
    case $words[2] in
{options}    esac
    compadd -- $options
  else
    case $words[2] in
    {with_problems}) compadd -- $(fabricbench list --names 2>/dev/null) ;;
    esac
    _files
  fi
}}
_fabricbench "$@"
)sh";

// For a word in single quotes.
std::string single_quoted(const std::string& text) { return "'" + replace_all(text, "'", "'\\''") + "'"; }

std::string zsh(const Command& program) {
  std::string commands, options, with_problems;
  for (const Command* command : visible_commands(program)) {
    const std::string& name = command->name();
    commands += fmt::format("    {}\n", single_quoted(name + ":" + replace_all(command->description(), ":", "\\:")));
    options += fmt::format("    {}) options=({}) ;;\n", name, fmt::join(long_options(*command), " "));
    if (takes_problems(*command)) with_problems += (with_problems.empty() ? "" : "|") + name;
  }
  return fmt::format(fmt::runtime(kZsh), fmt::arg("commands", commands), fmt::arg("options", options),
                     fmt::arg("with_problems", with_problems));
}

std::string fish(const Command& program) {
  std::string text = "# fish completion for fabricbench, made by `fabricbench completion fish`\n";
  for (const Command* command : visible_commands(program)) {
    const std::string& name = command->name();
    text += fmt::format("complete -c fabricbench -n __fish_use_subcommand -a {} -d {}\n", name,
                        single_quoted(command->description()));
    for (const OptionFacts& option : command->options()) {
      for (const std::string& word : option.long_names)
        text += fmt::format("complete -c fabricbench -n '__fish_seen_subcommand_from {}' -l {} -d {}\n", name, word,
                            single_quoted(option.description));
    }
    if (takes_problems(*command))
      text += fmt::format(
          "complete -c fabricbench -n '__fish_seen_subcommand_from {}' -a '(fabricbench list --names 2>/dev/null)'\n",
          name);
  }
  return text;
}

}  // namespace

void add_completion(Command& program, CommandRun& command_run) {
  auto shell = std::make_shared<std::string>();
  Command& command = program.add_command("completion", "Print a completion script for a shell");
  command.footer(
      "Examples:\n"
      "  source <(fabricbench completion bash)                                       this shell\n"
      "  fabricbench completion fish > ~/.config/fish/completions/fabricbench.fish   always\n"
      "  fabricbench completion zsh > ~/.zfunc/_fabricbench                          with ~/.zfunc in fpath");
  command.add_option("SHELL", *shell, "bash, zsh or fish").required().check(one_of({"bash", "zsh", "fish"}));
  command.callback([shell, &program, &command_run] {
    fmt::print("{}", *shell == "bash" ? bash(program) : *shell == "zsh" ? zsh(program) : fish(program));
    command_run.exit_code = kExitDone;
  });
}

}  // namespace fb::cli
