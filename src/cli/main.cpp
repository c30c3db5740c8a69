#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/failure.h"
#include "cli/program.h"

namespace {

using fb::cli::Command;
using fb::cli::CommandRun;

// True if the command has a flag --json (not an option with a file name) and it was given.
bool wants_json(const Command& program, const std::vector<std::string>& words) {
  if (std::ranges::find(words, "--json") == words.end()) return false;
  for (const std::string& word : words) {
    if (const Command* command = program.find_command(word)) {
      return std::ranges::any_of(command->options(), [](const fb::cli::OptionFacts& option) {
        return option.names == "--json" && !option.takes_value;
      });
    }
  }
  return false;
}

int run(Command& program, CommandRun& command_run, std::vector<std::string> words) {
  if (words.empty()) words = {"help"};
  if (wants_json(program, words)) fb::cli::report_failures_as_json();
  try {
    const auto text = program.parse(words);
    if (!text) {
      // Of a word that is no command CLI11 knows only that it was not expected.
      const auto first = std::ranges::find_if(words, [](const std::string& word) { return !word.starts_with('-'); });
      const bool no_command = first != words.end() && program.find_command(*first) == nullptr;
      return fb::cli::fail(no_command ? fb::cli::unknown_command(program, *first)
                                      : text.error().list[0].message + " (--help lists the options)");
    }
    if (text->empty()) return command_run.exit_code;
    fmt::print("{}", *text);
    return fb::cli::kExitDone;
  } catch (const std::exception& e) {
    return fb::cli::fail(e.what());
  }
}

// Under these names the program is the compiler driver.
bool is_named_nvcc(const char* program) {
  const std::string name = std::filesystem::path(program).filename().string();
  return name == "fabricbench-nvcc" || name == "nvcc";
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (argc > 0 && is_named_nvcc(argv[0])) words.insert(words.begin(), "nvcc");
  CommandRun command_run;
  if (!words.empty() && words[0] == "nvcc") {
    command_run.nvcc_words.assign(words.begin() + 1, words.end());
    words.resize(1);
  }
  if (!words.empty() && words[0] == "exec") {
    if (const auto dashes = std::ranges::find(words, "--"); dashes != words.end()) {
      command_run.program_arguments.assign(dashes + 1, words.end());
      words.erase(dashes, words.end());
    }
  }
  const auto program = fb::cli::make_program(command_run);
  return run(*program, command_run, std::move(words));
}
