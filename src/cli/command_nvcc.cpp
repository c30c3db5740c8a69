#include "cli/commands.h"
#include "cli/text/failure.h"
#include "common/base/installed.h"
#include "common/base/output.h"
#include "common/base/version.h"
#include "toolchain/driver/nvcc.h"

namespace fb::cli {
namespace {

int say_compiler_errors(const Errors& errors) {
  for (const auto& diagnostic : errors.list) print_error("{}\n", diagnostic.message);
  return kExitUsage;
}

int execute(const std::vector<std::string>& words) {
  const auto expanded =
      toolchain::expand_words(words, environment("NVCC_PREPEND_FLAGS"), environment("NVCC_APPEND_FLAGS"));
  if (!expanded) return say_compiler_errors(expanded.error());
  const auto command = toolchain::parse_nvcc_words(*expanded);
  if (!command) return fail(command.error().list[0].message);
  const toolchain::NvccStreams streams{
      .out = [](std::string_view text) { print_out("{}", text); },
      .log = [](std::string_view line) { print_error("{}\n", line); },
  };
  if (command->help) return print_out("{}", toolchain::nvcc_help_text()), kExitDone;
  if (command->version) return print_out("{}", toolchain::nvcc_version_text(std::string(version()))), kExitDone;
  if (command->list_architectures) return print_out("compute_90\ncompute_100\ncompute_103\n"), kExitDone;
  if (command->list_code) return print_out("sm_90\nsm_100\nsm_103\n"), kExitDone;
  const auto done = toolchain::run_nvcc(*command, streams);
  return done ? kExitDone : say_compiler_errors(done.error());
}

}  // namespace

void add_nvcc(Command& program, CommandRun& command_run) {
  Command& command = program.add_command("nvcc", "Compile and link CUDA for the virtual node, by nvcc's command line");
  command.footer(
      "Usage: fabricbench dev nvcc [NVCC'S OPTIONS] FILE...\n"
      "Also installed as fabricbench-nvcc, for CMAKE_CUDA_COMPILER and for make NVCC=…; `fabricbench dev nvcc --help` "
      "lists\n"
      "the options. Objects, static and shared libraries and programs; `fabricbench exec PROGRAM` runs a program.\n\n"
      "Examples:\n"
      "  fabricbench dev nvcc -O3 -o ring ring.cu\n"
      "  fabricbench dev nvcc -dc a.cu b.cu && fabricbench dev nvcc a.o b.o -o program\n"
      "  cmake -DCMAKE_CUDA_COMPILER=fabricbench-nvcc -DCMAKE_CUDA_ARCHITECTURES=90 ..");
  command.callback([&command_run] { command_run.exit_code = execute(command_run.nvcc_words); });
}

}  // namespace fb::cli
