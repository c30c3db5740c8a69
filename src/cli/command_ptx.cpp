#include <algorithm>
#include <memory>

#include "audit/inspect/ptx_view.h"
#include "cli/commands.h"
#include "cli/text/failure.h"
#include "common/base/output.h"
#include "common/base/strings.h"
#include "toolchain/compile/compile_both.h"

namespace fb::cli {
namespace {

struct PtxOptions {
  std::string file;
  std::string arch = "sm_90";
  std::vector<std::string> include_dirs, defines;
  bool text = false, json = false;
};

Result<std::string> ptx_of(const PtxOptions& o) {
  if (o.file.ends_with(".ptx")) return read_file(o.file);
  if (!o.file.ends_with(".cu")) return error("expected a .cu or .ptx file");
  toolchain::DeviceCompile request;
  request.source = o.file;
  request.gpu_arch = o.arch;
  request.include_dirs = o.include_dirs;
  request.defines = o.defines;
  return toolchain::ptx_of(request);
}

int show_ptx(const PtxOptions& o) {
  const auto ptx = ptx_of(o);
  if (!ptx) {
    print_error("{}", to_string(ptx.error(), o.file));
    return kExitUsage;
  }
  if (o.text) {
    print_out("{}", *ptx);
    return kExitDone;
  }
  const auto view = inspect::view_ptx(*ptx);
  if (!view) {
    // Positions are in the PTX, which for CUDA C++ the user can see with --text.
    print_error("{}", to_string(view.error(), o.file.ends_with(".ptx") ? o.file : o.file + " (PTX)"));
    return kExitUsage;
  }
  if (view->instructions == 0) {
    print_error("{}: no code in it (no __global__ function, no .entry)\n", o.file);
    return kExitUsage;
  }
  print_out("{}", o.json ? to_json(*view) : to_text(*view));
  const bool all = view->missing_functions.empty() && std::ranges::all_of(view->forms, &inspect::FormUse::executes);
  return all ? kExitDone : kExitNo;
}

}  // namespace

void add_ptx(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<PtxOptions>();
  Command& command = program.add_command("ptx", "Show what the front end sees in a CUDA or PTX file");
  command.footer(
      "Exit code: 0 everything is supported, 1 some of it is not, 2 the file can't be read, compiled or parsed.\n\n"
      "Examples:\n  fabricbench dev ptx kernel.cu\n  fabricbench dev ptx --text kernel.cu > kernel.ptx\n  fabricbench "
      "dev ptx "
      "--json kernel.ptx");
  command.add_option("file", options->file, "CUDA C++ (.cu, compiled with clang and our headers) or PTX (.ptx)")
      .required()
      .check(existing_file());
  auto text = command.add_flag("--text", options->text, "Print the PTX itself");
  command.add_flag("--json", options->json, "As JSON").excludes(text);
  command.add_option("--arch", options->arch, "Architecture to compile for").show_default();
  command.add_option("-I", options->include_dirs, "Folder to search for headers").one_value_each();
  command.add_option("-D", options->defines, "Macro, as NAME or NAME=VALUE").one_value_each();
  command.callback([options, &command_run] { command_run.exit_code = show_ptx(*options); });
}

}  // namespace fb::cli
