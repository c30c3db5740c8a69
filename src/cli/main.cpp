#include <algorithm>
#include <exception>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "cli/program.h"
#include "cli/text/failure.h"
#include "common/base/output.h"

namespace {

using fb::cli::Command;
using fb::cli::CommandRun;
using fb::cli::Named;

// Under these names the program is the compiler driver.
bool is_named_nvcc(const char* program) {
  const std::string name = std::filesystem::path(program).filename().string();
  return name == "fabricbench-nvcc" || name == "nvcc";
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// True if the command has a flag --json (not an option with a file name) and it was given.
bool wants_json(const Command& command, const std::vector<std::string>& words) {
  return contains(words, "--json") && std::ranges::any_of(command.options(), [](const fb::cli::OptionFacts& option) {
           return option.names == "--json" && !option.takes_value;
         });
}

// Words that are not for us: nvcc's command line, and the arguments of the program that exec runs.
void set_aside(const Named& named, std::vector<std::string>& words, CommandRun& command_run) {
  const auto own = words.begin() + static_cast<std::ptrdiff_t>(named.end);
  if (named.command->path() == "fabricbench dev nvcc") {
    command_run.nvcc_words.assign(own, words.end());
    words.erase(own, words.end());
  }
  if (named.command->path() == "fabricbench exec") {
    if (const auto dashes = std::find(own, words.end(), "--"); dashes != words.end()) {
      command_run.program_arguments.assign(dashes + 1, words.end());
      words.erase(dashes, words.end());
    }
  }
}

int run(std::vector<std::string> words) {
  CommandRun command_run;
  const auto program = fb::cli::make_program(command_run);
  fb::cli::rename_old_command(*program, words);
  const Named named = find_named(*program, words);
  if (wants_json(*named.command, words)) fb::cli::report_failures_as_json();
  set_aside(named, words, command_run);
  // A list of commands alone does nothing: it is shown.
  if (named.end == words.size() && !named.command->commands().empty() && !contains(words, "--version"))
    words.emplace_back("--help");
  const auto text = program->parse(words);
  if (!text) {
    // Of a word that is no command the parser knows only that it was not expected.
    if (!named.unknown.empty()) return fb::cli::fail(unknown_command(*named.command, named.unknown));
    return fb::cli::fail(in_one_line(text.error()) + usage_hint(*named.command, words));
  }
  if (text->empty()) return command_run.exit_code;
  fb::print_out("{}", *text);
  return fb::cli::kExitDone;
}

}  // namespace

int main(int argc, char** argv) {
  fb::occupy_standard_descriptors();
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (argc > 0 && is_named_nvcc(argv[0])) words.insert(words.begin(), {"dev", "nvcc"});
  int exit_code = fb::cli::kExitUsage;
  try {
    exit_code = run(std::move(words));
  } catch (const std::exception& e) {
    exit_code = fb::cli::fail(e.what());
  }
  return fb::cli::finish(exit_code);
}
