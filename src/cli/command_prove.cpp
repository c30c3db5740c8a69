#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "audit/prove/prove.h"
#include "cli/commands.h"
#include "cli/options/device_compiler_option.h"
#include "cli/options/problem_choice.h"
#include "cli/text/failure.h"
#include "cli/text/progress.h"
#include "common/base/interruption.h"
#include "common/base/output.h"
#include "common/base/strings.h"

namespace fb::cli {
namespace {

struct ProveOptions {
  std::vector<std::string> problems;
  std::string folder, device_compiler;
  bool full = false, quick = false, json = false, no_nvcc = false, no_sandbox = false, verbose = false;
  uint64_t seed = 1;
};

void print_check(const prove::Check& check, bool verbose) {
  if (check.good && !verbose) return;
  print_out("  {} {}  ({:.1f} s){}{}\n",
            check.skipped ? "skip"
            : check.good  ? "ok  "
                          : "FAIL",
            check.name, check.seconds, check.detail.empty() ? "" : ": ", trim(check.detail));
  flush(stdout);
}

// The names of skipped checks, each once, with the reason.
std::string skipped_in(const std::vector<prove::Report>& reports) {
  std::vector<std::string> lines;
  for (const auto& report : reports) {
    for (const auto& check : report.checks) {
      std::string line = fmt::format("skipped: {}: {}\n", check.name, trim(check.detail));
      if (check.skipped && std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
    }
  }
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

nlohmann::ordered_json to_value(const prove::Report& report) {
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  for (const auto& check : report.checks)
    checks.push_back({{"name", check.name},
                      {"good", check.good},
                      {"skipped", check.skipped},
                      {"detail", check.detail},
                      {"seconds", check.seconds}});
  return {{"problem", report.problem}, {"good", report.good()}, {"checks", checks}};
}

int run(const ProveOptions& o) {
  const auto folder = problems_folder(o.folder);
  if (!folder) return fail(folder.error());
  std::vector<std::string> names = o.problems;
  if (names.empty()) {
    for (const auto& place : catalog::problem_places(*folder)) names.push_back(place.folder);
  }
  if (names.empty()) return fail(fmt::format("{}: there are no problems", *folder));
  prove::Options options;
  options.form = o.full ? prove::Form::full : o.quick ? prove::Form::quick : prove::Form::usual;
  options.with_nvcc = !o.no_nvcc;
  options.use_sandbox = !o.no_sandbox;
  options.device_compiler = toolchain::device_compiler_of(o.device_compiler);
  options.seed = o.seed;
  const InterruptionGuard guard;
  Progress progress("prove");
  std::string current;
  size_t begun = 0, bad = 0;
  options.on_begin = [&](const std::string& check) {
    progress.show(fmt::format("{} ({} of {}): {}", current, begun, names.size(), check));
  };
  options.on_check = [&](const prove::Check& check) {
    progress.clear();
    if (!o.json) print_check(check, o.verbose);
  };
  std::vector<prove::Report> reports;
  for (const std::string& name : names) {
    ++begun;
    const auto pack = choose_problem(o.folder, name);
    if (!pack) {
      ++bad;
      warn(pack.error());
      continue;
    }
    current = pack->problems.front().name;
    if (!o.json) print_out("{}\n", current);
    reports.push_back(prove::prove(*pack, pack->problems.front(), options));
    if (!reports.back().good()) ++bad;
  }
  if (o.json) {
    nlohmann::ordered_json values = nlohmann::ordered_json::array();
    for (const auto& report : reports) values.push_back(to_value(report));
    print_out("{}\n", values.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    // The quick form proves nothing: it is what there is time for after each change.
    print_out("{}{} of {} problems{}\n", skipped_in(reports), names.size() - bad, names.size(),
              o.quick ? ": quick checks hold" : " are proven");
  }
  return bad == 0 ? kExitDone : kExitNo;
}

}  // namespace

void add_prove(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<ProveOptions>();
  ProveOptions& o = *options;
  Command& command = program.add_command("prove", "Prove problems: the reference passes and no impostor does");
  command.footer(
      "Checks of each problem: statement, reference under many schedules, bytes that the reference moves, template,\n"
      "oracle (deterministic, sensitive), impostors, an independent alternative, nvcc. Exit code: 0 all are proven, 1 "
      "some "
      "are not.\n"
      "What can't be checked here, as without nvcc, is skipped and named.\n\n"
      "Examples:\n"
      "  fabricbench dev prove                              all problems, usual form\n"
      "  fabricbench dev prove --full all_reduce_ring       more seeds, every impostor\n"
      "  fabricbench dev prove --problems my_pack           a pack of your own");
  command.add_option("problems", o.problems, "Names of problems (default: all)");
  auto full = command.add_flag("--full", o.full, "The long form: eight seeds and every impostor");
  command
      .add_flag("--quick", o.quick,
                "What CI has time for: a quick judgement of the reference, one impostor, no alternative")
      .excludes(full);
  command.add_flag("--verbose", o.verbose, "Also name the checks that hold");
  add_device_compiler_option(command, o.device_compiler);
  command.add_flag("--no-nvcc", o.no_nvcc, "Do not compile references and baselines with nvcc");
  command.add_option("--seed", o.seed, "Seed of inputs and schedules").show_default();
  command.add_flag("--json", o.json, "Print reports as JSON");
  command.add_flag("--unsafe-no-sandbox", o.no_sandbox, "Run candidates with your own rights, without a sandbox");
  add_problems_option(command, o.folder);
  command.callback([options, &command_run] { command_run.exit_code = run(*options); });
}

}  // namespace fb::cli
