#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "base/version.h"
#include "cli/commands.h"

int main(int argc, char** argv) {
  CLI::App program("FabricBench: is this multi-GPU code right, and is it fast?", "fabricbench");
  program.set_version_flag("--version", "fabricbench " + std::string(fb::version()));
  program.require_subcommand(1);
  int exit_code = fb::cli::kExitUsage;
  fb::cli::add_prove(program, exit_code);
  fb::cli::add_mutate(program, exit_code);
  fb::cli::add_list(program, exit_code);
  fb::cli::add_show(program, exit_code);
  fb::cli::add_template(program, exit_code);
  fb::cli::add_prompt(program, exit_code);
  fb::cli::add_new(program, exit_code);
  fb::cli::add_bench(program, exit_code);
  fb::cli::add_calibrate(program, exit_code);
  fb::cli::add_check(program, exit_code);
  fb::cli::add_run(program, exit_code);
  fb::cli::add_worker(program, exit_code);
  fb::cli::add_caller(program, exit_code);
  fb::cli::add_coverage(program, exit_code);
  fb::cli::add_ptx(program, exit_code);
  fb::cli::add_report(program, exit_code);
  // What follows "--" belongs to the program that is executed.
  std::vector<std::string> words(argv, argv + argc), program_arguments;
  if (argc > 1 && words[1] == "exec") {
    if (const auto dashes = std::ranges::find(words, "--"); dashes != words.end()) {
      program_arguments.assign(dashes + 1, words.end());
      argc = static_cast<int>(dashes - words.begin());
    }
  }
  fb::cli::add_exec(program, exit_code, std::move(program_arguments));
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // CLI11 prints help and messages itself; success means --help or --version.
    return program.exit(e) == 0 ? fb::cli::kExitDone : fb::cli::kExitUsage;
  } catch (const std::exception& e) {
    fmt::print(stderr, "fabricbench: {}\n", e.what());
    return fb::cli::kExitUsage;
  }
  return exit_code;
}
