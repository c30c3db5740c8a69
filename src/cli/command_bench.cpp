#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/problem_choice.h"
#include "judge/judge.h"

namespace fb::cli {
namespace {

struct Options {
  std::string glob = "*", folder;
  bool quick = false, cached = false;
};

double cpu_seconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& t : {usage.ru_utime, usage.ru_stime})
      seconds += static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  }
  return seconds;
}

struct Row {
  double wall = 0, cpu = 0, build = 0, machine = 0, own = 0;
};

// Everything but compiler and machine: starting sandboxes, inputs and expected values, comparing.
double own_seconds(const record::Verdict& verdict) {
  double seconds = 0;
  for (const char* phase : {"load oracle", "session start", "session oracle", "session compare"}) {
    if (const auto found = verdict.wall_seconds.find(phase); found != verdict.wall_seconds.end())
      seconds += found->second;
  }
  return seconds;
}

double phase(const record::Verdict& verdict, const char* name) {
  const auto found = verdict.wall_seconds.find(name);
  return found == verdict.wall_seconds.end() ? 0 : found->second;
}

void print_row(const std::string& name, const Row& row) {
  const double all = row.build + row.machine + row.own;
  fmt::print("{:<22} {:>7.2f} {:>7.2f} {:>7.2f} {:>8.2f} {:>6.1f} % {:>9.0f}\n", name, row.wall, row.cpu, row.build,
             row.machine, all > 0 ? 100 * row.own / all : 0, row.cpu > 0 ? 3600 / row.cpu : 0);
  std::fflush(stdout);
}

int run(const Options& o) {
  const auto folder = problems_folder(o.folder);
  if (!folder) return say_errors(folder.error());
  fmt::print("{:<22} {:>7} {:>7} {:>7} {:>8} {:>8} {:>9}\n", "reference", "wall s", "cpu s", "build s", "machine s",
             "judge", "/h/core");
  std::vector<Row> rows;
  for (const std::string& name : catalog::problem_folders(*folder)) {
    const std::string last = name.substr(name.find('/') + 1);
    if (fnmatch(o.glob.c_str(), last.c_str(), 0) != 0) continue;
    const auto pack = choose_problem(o.folder, name);
    if (!pack) return say_errors(pack.error());
    judge::JudgeRequest request;
    request.pack = &*pack;
    request.problem = &pack->problems.front();
    request.answer = request.problem->reference;
    // A candidate that nobody has built before.
    if (!o.cached) request.answer += fmt::format("// {}\n", rows.size() + static_cast<size_t>(cpu_seconds() * 1e6));
    request.answer_file = "reference.cu";
    request.thoroughness = o.quick ? judge::Thoroughness::quick : judge::Thoroughness::full;
    request.measure_reference = false;
    request.use_cache = true;
    const double before = cpu_seconds();
    const record::Verdict verdict = judge::judge(request);
    if (verdict.verdict != record::VerdictClass::pass) {
      fmt::print(stderr, "fabricbench: {}: {}: {}\n", name, to_string(verdict.verdict), verdict.summary);
      return kExitNo;
    }
    Row row{.wall = phase(verdict, "all"),
            .cpu = cpu_seconds() - before,
            .build = phase(verdict, "build"),
            .machine = phase(verdict, "session run"),
            .own = own_seconds(verdict)};
    print_row(last, row);
    rows.push_back(row);
  }
  if (rows.empty()) return say_errors(Errors(fmt::format("no problem is called {}", o.glob)));
  Row sum;
  for (const Row& row : rows) {
    sum.wall += row.wall;
    sum.cpu += row.cpu;
    sum.build += row.build;
    sum.machine += row.machine;
    sum.own += row.own;
  }
  const auto count = static_cast<double>(rows.size());
  print_row("mean", {sum.wall / count, sum.cpu / count, sum.build / count, sum.machine / count, sum.own / count});
  std::ranges::sort(rows, {}, &Row::wall);
  fmt::print("median wall time {:.2f} s\n", rows[rows.size() / 2].wall);
  return kExitDone;
}

}  // namespace

void add_bench(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  auto* command = program.add_subcommand("bench", "Measure how fast verdicts are, with the references as candidates");
  command->footer(
      "Wall and processor time of one verdict each, what of it the compiler and the machine took, the share of the "
      "judge\n"
      "itself (sandboxes, inputs, expected values, comparison), and verdicts per hour on one core.\n\n"
      "Examples:\n"
      "  fabricbench bench --quick\n"
      "  fabricbench bench 'all_reduce*'");
  command->add_option("glob", o.glob, "Names of problems")->capture_default_str();
  command->add_flag("--quick", o.quick, "Quick checks");
  command->add_flag("--cached", o.cached, "Candidates that were built before come from the cache");
  add_problems_option(*command, o.folder);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace fb::cli
