#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/options/problem_choice.h"
#include "cli/options/read_answer_file.h"
#include "cli/text/failure.h"
#include "common/base/output.h"
#include "common/base/strings.h"
#include "judge/catalog/family.h"
#include "judge/standalone/write_folder.h"
#include "toolchain/compile/locate.h"

namespace fb::cli {
namespace {

namespace fs = std::filesystem;

struct ExportOptions {
  std::string problem, problems, out, solution;
  bool no_reference = false, all = false, force = false;
};

// Nothing of the user's is overwritten unasked.
Result<void> expect_room(const fs::path& folder, bool force) {
  if (force || !fs::exists(folder) || (fs::is_directory(folder) && fs::is_empty(folder))) return {};
  return error(
      fmt::format("{} exists and is not empty: name another folder, or --force to write into it", folder.string()));
}

Result<void> export_problem(const catalog::Problem& problem, const ExportOptions& o, const std::string& sdk,
                            const fs::path& folder) {
  standalone::FolderRequest request{.problem = &problem, .sdk = sdk, .reference = !o.no_reference};
  if (!o.solution.empty()) {
    auto answer = read_answer_file(o.problem, o.solution);
    if (answer && o.solution != "-") answer = catalog::with_headers_of(problem, o.solution, std::move(*answer));
    if (!answer) return std::unexpected(answer.error());
    request.solution = std::move(*answer);
  }
  const auto files = standalone::folder_files(request);
  if (!files) return std::unexpected(files.error());
  if (auto room = expect_room(folder, o.force); !room) return room;
  for (const auto& [name, text] : *files) {
    fs::create_directories((folder / name).parent_path());
    write_file((folder / name).string(), text);
  }
  return {};
}

int export_one(const ExportOptions& o, const std::string& sdk) {
  const auto pack = choose_problem(o.problems, o.problem);
  if (!pack) return fail(pack.error());
  const catalog::Problem& problem = pack->problems.front();
  const fs::path folder = o.out.empty() ? problem.name : o.out;
  if (const auto done = export_problem(problem, o, sdk, folder); !done) return fail(done.error());
  auto worlds = problem.worlds;
  std::ranges::sort(worlds);
  print_out("{0}: build it with `make`, run it with `./run -n {1}` on {1} GPUs; README.md says more\n", folder.string(),
            worlds.back());
  return kExitDone;
}

int export_all(const ExportOptions& o, const std::string& sdk) {
  const auto root = problems_folder(o.problems);
  if (!root) return fail(root.error());
  const auto pack = catalog::load_pack(*root);
  if (!pack) return fail(pack.error());
  const fs::path out = o.out.empty() ? "problems" : o.out;
  if (const auto room = expect_room(out, o.force); !room) return fail(room.error());
  for (const catalog::Problem& problem : pack->problems) {
    if (const auto done = export_problem(problem, o, sdk, out / problem.name); !done) return fail(done.error());
  }
  print_out("{}: {} folders; `for f in {}/*; do make -C $f; done` builds them\n", out.string(), pack->problems.size(),
            out.string());
  return kExitDone;
}

int export_folders(const ExportOptions& o) {
  if (o.problem.empty() != o.all) return fail("name a problem (fabricbench list), or say --all for all of them");
  const auto where = toolchain::locate();
  if (!where) return fail(where.error());
  return o.all ? export_all(o, where->sdk) : export_one(o, where->sdk);
}

}  // namespace

void add_export(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<ExportOptions>();
  ExportOptions& o = *options;
  Command& command = program.add_command("export", "Write a problem as a folder that runs on your own GPUs");
  command.footer(
      "The folder builds with nvcc and g++ and needs nothing of FabricBench: it says right or wrong, us and GB/s,\n"
      "for your solution, the reference and the baseline. It is no verdict: docs/guide/real_gpus.md says what it "
      "sees.\n\n"
      "Examples:\n"
      "  fabricbench export all_reduce_one_shot                            then: make && ./run -n 8\n"
      "  fabricbench export all_reduce_one_shot -o ar --solution mine.cu   with a solution in it\n"
      "  fabricbench export --all -o problems                              one folder for each problem");
  command.add_option("problem", o.problem, "Its name (fabricbench list), or a problem's folder");
  command.add_option("-o,--out", o.out, "The folder (default: the problem's name; with --all: problems)")
      .output_folder();
  command.add_option("--solution", o.solution,
                     "A solution or an answer, as solution.cu; - reads it from standard input");
  command.add_flag("--no-reference", o.no_reference, "Without reference, baseline and alternative");
  command.add_flag("--all", o.all, "All problems of the pack");
  command.add_flag("--force", o.force, "Write into a folder that is not empty");
  add_problems_option(command, o.problems);
  command.callback([options, &command_run] { command_run.exit_code = export_folders(*options); });
}

}  // namespace fb::cli
