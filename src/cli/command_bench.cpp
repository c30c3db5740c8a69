#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include <CLI/CLI.hpp>
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/problem_choice.h"
#include "judge/judge.h"

namespace fb::cli {
namespace {

struct Options {
  std::string glob = "*", folder;
  bool quick = false, cached = false;
};

// Seconds of one verdict. Sessions run side by side, so their phases are sums over sessions: seconds of a core, if no
// other work is on it.
struct Row {
  double wall = 0, build = 0, machine = 0, start = 0, oracle = 0, compare = 0, rest = 0;

  double judge() const { return start + oracle + compare + rest; }
  // Two compilers run at once.
  double core() const { return 2 * build + machine + judge(); }
};

double phase(const record::Verdict& verdict, const char* name) {
  const auto found = verdict.wall_seconds.find(name);
  return found == verdict.wall_seconds.end() ? 0 : found->second;
}

Row row_of(const record::Verdict& v) {
  Row row{.wall = phase(v, "all"),
          .build = phase(v, "build"),
          .machine = phase(v, "session run"),
          .start = phase(v, "session start"),
          .oracle = phase(v, "session oracle") + phase(v, "load oracle"),
          .compare = phase(v, "session compare")};
  row.rest = std::max(0.0, row.wall - row.build - phase(v, "sessions") - phase(v, "sensitivity"));
  return row;
}

void print_row(const std::string& name, const Row& row) {
  fmt::print("{:<22} {:>7.2f} {:>7.2f} {:>8.2f} {:>7.2f} {:>7.2f} {:>8.2f} {:>6.1f} % {:>8.0f}\n", name, row.wall,
             row.build, row.machine, row.start, row.oracle, row.compare, 100 * row.judge() / row.core(),
             3600 / row.core());
  std::fflush(stdout);
}

int run(const Options& o) {
  const auto folder = problems_folder(o.folder);
  if (!folder) return fail(folder.error());
  fmt::print("{:<22} {:>7} {:>7} {:>8} {:>7} {:>7} {:>8} {:>8} {:>8}\n", "reference", "wall", "build", "machine",
             "start", "oracle", "compare", "judge", "/h/core");
  std::vector<Row> rows;
  for (const std::string& name : catalog::problem_folders(*folder)) {
    const std::string last = name.substr(name.find('/') + 1);
    if (fnmatch(o.glob.c_str(), last.c_str(), 0) != 0) continue;
    const auto pack = choose_problem(o.folder, name);
    if (!pack) return fail(pack.error());
    judge::JudgeRequest request;
    request.pack = &*pack;
    request.problem = &pack->problems.front();
    request.answer = request.problem->reference;
    // A candidate that is in no cache: the text inside the region differs.
    const std::string marker = "// [template]";
    if (const size_t at = request.answer.find(marker); at != std::string::npos && !o.cached)
      request.answer.insert(at, fmt::format("// {}\n", std::chrono::steady_clock::now().time_since_epoch().count()));
    request.answer_file = "reference.cu";
    request.thoroughness = o.quick ? judge::Thoroughness::quick : judge::Thoroughness::full;
    request.measure_reference = false;
    request.use_cache = true;
    const record::Verdict verdict = judge::judge(request);
    if (verdict.verdict != record::VerdictClass::pass) {
      fmt::print(stderr, "fabricbench: {}: {}: {}\n", name, to_string(verdict.verdict), verdict.summary);
      return kExitNo;
    }
    const Row row = row_of(verdict);
    print_row(last, row);
    rows.push_back(row);
  }
  if (rows.empty()) return fail(fmt::format("no problem matches {}", o.glob));
  Row mean;
  for (const Row& row : rows) {
    const auto count = static_cast<double>(rows.size());
    for (double Row::* part :
         {&Row::wall, &Row::build, &Row::machine, &Row::start, &Row::oracle, &Row::compare, &Row::rest})
      mean.*part += row.*part / count;
  }
  print_row("mean", mean);
  std::ranges::sort(rows, {}, &Row::wall);
  fmt::print("median wall time {:.2f} s\n", rows[rows.size() / 2].wall);
  return kExitDone;
}

}  // namespace

void add_bench(CLI::App& program, CommandRun& command_run) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  auto* command = program.add_subcommand("bench", "Measure how fast verdicts are, with the references as candidates");
  command->footer(
      "Seconds per verdict: wall time, compilers, then sums over sessions: the machine, starting sandboxes, "
      "inputs\n"
      "and expected values, comparison. The judge's share is everything but compilers and machine. Verdicts per "
      "hour\n"
      "on one core. Meaningful on an idle computer only.\n\n"
      "Examples:\n"
      "  fabricbench bench --quick\n"
      "  fabricbench bench 'all_reduce*'");
  command->add_option("glob", o.glob, "Names of problems")->capture_default_str();
  command->add_flag("--quick", o.quick, "Quick checks");
  command->add_flag("--cached", o.cached, "Take candidates that were built before from the cache");
  add_problems_option(*command, o.folder);
  command->callback([options, &command_run] { command_run.exit_code = run(*options); });
}

}  // namespace fb::cli
