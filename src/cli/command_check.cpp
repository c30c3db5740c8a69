#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "cli/commands.h"
#include "cli/options/device_compiler_option.h"
#include "cli/options/problem_choice.h"
#include "cli/options/read_answer_file.h"
#include "cli/options/seed_text.h"
#include "cli/text/failure.h"
#include "cli/text/profile_text.h"
#include "cli/text/progress.h"
#include "cli/text/verdict_text.h"
#include "common/base/interruption.h"
#include "common/base/output.h"
#include "common/base/strings.h"
#include "common/base/temp_dir.h"
#include "common/base/text_limits.h"
#include "common/platform/platform.h"
#include "judge/catalog/family.h"
#include "judge/judge.h"

namespace fb::cli {
namespace {

struct CheckOptions {
  std::string problem, file, problems, platform, trace, backend = "virtual";
  std::string seed, device_compiler;
  bool json = false, quick = false, full = false, no_sandbox = false, no_cache = false, no_reference = false,
       no_races = false, verbose = false, profile = false;
  size_t jobs = 0;
  uint32_t schedules = 0;
};

// Verdicts come from the virtual node alone; the option had a value that compiled for GPUs, and ran nothing.
std::string why_no_backend(const std::string& value) {
  if (value == "virtual") return "";
  return "GPUs can't be judged; `fabricbench export PROBLEM --solution FILE` writes a folder that runs on yours";
}

// Problem and file in the wrong order: the command that was meant.
Errors swapped(const CheckOptions& o, const Errors& otherwise) {
  const auto meant = choose_problem(o.problems, o.file);
  if (!meant) return otherwise;
  return Errors(fmt::format("the problem comes first, then the file: fabricbench check {} {}", o.file, o.problem));
}

// From where the sessions left it to where it is wanted. The verdict has been printed.
bool deliver_timeline(const std::string& made, const std::string& wanted) {
  if (!std::filesystem::exists(made)) return true;  // no session began, or the verdict has a note
  try {
    write_file(wanted, read_file(made));
    return true;
  } catch (const std::system_error& e) {
    warn(Errors(e.what()));
    return false;
  }
}

int check(const CheckOptions& o) {
  const auto pack = choose_problem(o.problems, o.problem);
  if (!pack) return fail(swapped(o, pack.error()));
  if (!o.platform.empty()) {
    if (const auto platform = platform::load_platform(o.platform); !platform) return fail(platform.error());
  }
  auto answer = read_answer_file(o.problem, o.file);
  if (answer && o.file != "-") answer = catalog::with_headers_of(pack->problems.front(), o.file, std::move(*answer));
  if (!answer) return fail(answer.error());
  if (o.verbose) cut_nothing();
  judge::JudgeRequest request;
  request.verbose = o.verbose;
  request.pack = &*pack;
  request.problem = &pack->problems.front();
  request.answer = std::move(*answer);
  request.answer_file = o.file == "-" ? "answer" : o.file;
  request.thoroughness = o.quick ? judge::Thoroughness::quick : judge::Thoroughness::full;
  if (!o.seed.empty()) request.seed = std::stoull(o.seed);
  request.schedules = o.schedules;
  request.platform = o.platform;
  // Sessions make it in a folder of ours: the user's file may be a device, or on a disk that is full.
  std::optional<TempDir> folder;
  if (!o.trace.empty()) request.trace = folder.emplace().path() + "/trace.json";
  request.profile = o.profile;
  request.device_compiler = toolchain::device_compiler_of(o.device_compiler);
  request.look_for_races = !o.no_races;
  request.use_sandbox = !o.no_sandbox;
  request.use_cache = !o.no_cache;
  request.measure_yardstick = !o.no_reference;
  request.side_by_side = o.jobs;
  const InterruptionGuard guard;
  Progress line("check");
  request.on_progress = [&](const judge::JudgeProgress& progress) {
    line.show(fmt::format("{}: {}", request.problem->name, progress.phase), progress.done, progress.planned);
  };
  const record::Verdict verdict = judge::judge(request);
  line.clear();
  if (o.json) {
    print_out("{}\n", to_json(verdict));
  } else {
    const std::string again = o.schedules == 0 ? "" : fmt::format(" --schedules {}", o.schedules);
    print_out("{}", describe(verdict, o.file, again));
    if (o.profile && verdict.verdict == record::VerdictClass::pass) {
      print_out("\n{}", profile_text(verdict.profile, o.file == "-" ? "" : o.file));
    }
  }
  if (!o.trace.empty() && !deliver_timeline(request.trace, o.trace)) return kExitUsage;
  return exit_code_of(verdict.verdict);
}

}  // namespace

void add_check(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<CheckOptions>();
  CheckOptions& o = *options;
  Command& command = program.add_command("check", "Judge a solution of a problem");
  command.footer(
      "Without --seed the inputs and schedules are drawn anew; a verdict tells its seed, which replays it.\n"
      "Exit code: 0 passed, 1 not passed, 2 wrong usage or a failure of ours.\n\n"
      "Examples:\n"
      "  fabricbench template all_reduce_one_shot -o solution.cu\n"
      "  fabricbench check --quick all_reduce_one_shot solution.cu   the smallest sizes on one world\n"
      "  fabricbench check all_reduce_one_shot solution.cu           all sizes, worlds and schedules; the speed\n"
      "  fabricbench check --seed 7 --trace run.json all_reduce_one_shot solution.cu");
  command.add_option("problem", o.problem, "Its name (fabricbench list), or a problem's folder").required();
  command.add_option("file", o.file, "The solution; - reads it from standard input").required();
  command.add_flag("--json", o.json, "Print the verdict as JSON");
  command.add_flag("--verbose", o.verbose, "The explanation in full: nothing is left out of its lists");
  command.add_option("--backend", o.backend, "Was compiling for GPUs").hidden().check({why_no_backend, "TEXT"});
  add_device_compiler_option(command, o.device_compiler);
  command.add_option("--seed", o.seed, "Replay a verdict").check({why_no_seed, "UINT"});
  command
      .add_option("--schedules", o.schedules,
                  "Schedules of each world that are drawn at random and checked for races (default: 2)")
      .check(in_range(1, 10'000));
  auto quick = command.add_flag("--quick", o.quick, "One world, small sizes, two schedules, no times");
  command.add_flag("--full", o.full, "All worlds, sizes and schedules, and the speed (the default)").excludes(quick);
  command
      .add_option("--trace", o.trace,
                  "Write a timeline here, for Perfetto: of the timed calls, or else of the first session")
      .output_file();
  command.add_flag("--profile", o.profile, "Of a pass: where the time of its kernels goes, by source line and cause")
      .excludes(quick);
  command.add_option("--platform", o.platform, "Name of a platform, or a platform file (default: the problem's)");
  add_problems_option(command, o.problems);
  command.add_option("--jobs", o.jobs, "Sessions side by side (default: one for each core)").check(in_range(1, 1024));
  command.add_flag("--no-reference", o.no_reference, "Do not measure reference and baseline: no speed");
  command.add_flag("--no-races", o.no_races, "Do not look for races: faster, and a pass proves less");
  command.add_flag("--no-cache", o.no_cache, "Compile again, and keep nothing");
  command.add_flag("--unsafe-no-sandbox", o.no_sandbox,
                   "Run the candidate as yourself, without protection; the verdict says so");
  command.callback([options, &command_run] { command_run.exit_code = check(*options); });
}

}  // namespace fb::cli
