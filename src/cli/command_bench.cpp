#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>

#include "cli/commands.h"
#include "cli/options/problem_choice.h"
#include "cli/text/failure.h"
#include "cli/text/progress.h"
#include "common/base/interruption.h"
#include "common/base/json.h"
#include "common/base/output.h"
#include "judge/judge.h"

namespace fb::cli {
namespace {

struct BenchOptions {
  std::string glob = "*", folder;
  bool quick = false, cached = false, json = false;
};

// One column: seconds of a processor, except `wall` and the last two.
struct BenchRow {
  double wall = 0, all = 0;
  double build = 0;                                // compilers, or the cache
  double checked = 0, timed = 0, sensitivity = 0;  // the machine, by kind of session
  double ranks = 0, start = 0, oracle = 0, compare = 0, rest = 0;
  double overhead = 0;  // all / (compilers + machine)
  double per_hour = 0;  // verdicts of one core
};

struct BenchColumn {
  const char* name;
  double BenchRow::* value;
  int width, digits;
};

constexpr auto kBenchColumns = std::to_array<BenchColumn>({
    {"wall", &BenchRow::wall, 7, 3},
    {"all", &BenchRow::all, 7, 3},
    {"build", &BenchRow::build, 7, 3},
    {"checked", &BenchRow::checked, 8, 3},
    {"timed", &BenchRow::timed, 7, 3},
    {"sensitivity", &BenchRow::sensitivity, 12, 3},
    {"ranks", &BenchRow::ranks, 7, 3},
    {"start", &BenchRow::start, 7, 3},
    {"oracle", &BenchRow::oracle, 7, 3},
    {"compare", &BenchRow::compare, 8, 3},
    {"rest", &BenchRow::rest, 7, 3},
    {"overhead", &BenchRow::overhead, 9, 2},
    {"per_hour", &BenchRow::per_hour, 9, 0},
});

double named(const std::map<std::string, double>& seconds, const std::string& name) {
  const auto found = seconds.find(name);
  return found == seconds.end() ? 0 : found->second;
}

BenchRow row_of(const record::Verdict& v) {
  const auto used = [&](const std::string& name) { return named(v.processor_seconds, name); };
  const auto of_sessions = [&](const char* part) {
    double sum = 0;
    for (const std::string kind : {"checked ", "timed ", "sensitivity "}) sum += used(kind + part);
    return sum;
  };
  BenchRow row{.wall = named(v.wall_seconds, "all"),
               .all = used("all"),
               .build = used("build"),
               .checked = used("checked machine"),
               .timed = used("timed machine"),
               .sensitivity = used("sensitivity machine"),
               .ranks = of_sessions("ranks"),
               .start = of_sessions("start") + of_sessions("ranks start") + used("zygote"),
               .oracle = of_sessions("oracle") + used("load oracle"),
               .compare = of_sessions("compare")};
  const double work = row.build + row.checked + row.timed + row.sensitivity;
  row.rest = std::max(0.0, row.all - work - row.ranks - row.start - row.oracle - row.compare);
  row.overhead = work > 0 ? row.all / work : 0;
  row.per_hour = row.all > 0 ? 3600 / row.all : 0;
  return row;
}

void print_row(const std::string& name, const BenchRow& row) {
  print_out("{:<22}", name);
  for (const BenchColumn& column : kBenchColumns)
    print_out(" {:>{}.{}f}", row.*column.value, column.width, column.digits);
  print_out("\n");
  flush(stdout);
}

void print_head() {
  print_out("{:<22}", "reference");
  for (const BenchColumn& column : kBenchColumns) print_out(" {:>{}}", column.name, column.width);
  print_out("\n");
}

// BenchColumn by column: a row of it need not be that of any verdict.
BenchRow summary(const std::vector<BenchRow>& rows, auto of_values) {
  BenchRow row;
  for (const BenchColumn& column : kBenchColumns) {
    std::vector<double> values;
    for (const BenchRow& one : rows) values.push_back(one.*column.value);
    std::ranges::sort(values);
    row.*column.value = of_values(values);
  }
  return row;
}

std::vector<std::pair<std::string, BenchRow>> summaries(const std::vector<BenchRow>& rows) {
  const auto median = [](const std::vector<double>& sorted) {
    const size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  };
  BenchRow mean = summary(rows, [](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  });
  // Of all verdicts together: the mean of ratios would be that of the small ones.
  const double work = mean.build + mean.checked + mean.timed + mean.sensitivity;
  mean.overhead = work > 0 ? mean.all / work : 0;
  mean.per_hour = mean.all > 0 ? 3600 / mean.all : 0;
  return {{"median", summary(rows, median)},
          {"mean", mean},
          {"largest", summary(rows, [](const std::vector<double>& sorted) { return sorted.back(); })}};
}

Json json_of(const BenchRow& row) {
  Json values;
  for (const BenchColumn& column : kBenchColumns) values[column.name] = row.*column.value;
  return values;
}

Result<record::Verdict> judge_reference(const BenchOptions& o, const catalog::Pack& pack) {
  judge::JudgeRequest request;
  request.pack = &pack;
  request.problem = &pack.problems.front();
  request.answer = request.problem->reference;
  // A candidate that is in no cache: the text inside the region differs.
  const std::string marker = "// [template]";
  if (const size_t at = request.answer.find(marker); at != std::string::npos && !o.cached)
    request.answer.insert(at, fmt::format("// {}\n", std::chrono::steady_clock::now().time_since_epoch().count()));
  request.answer_file = "reference.cu";
  request.thoroughness = o.quick ? judge::Thoroughness::quick : judge::Thoroughness::full;
  request.measure_yardstick = false;
  request.use_cache = true;
  record::Verdict verdict = judge::judge(request);
  if (verdict.verdict != record::VerdictClass::pass)
    return error(fmt::format("{}: {}: {}", request.problem->name, to_string(verdict.verdict), verdict.summary));
  return verdict;
}

int run(const BenchOptions& o) {
  const auto folder = problems_folder(o.folder);
  if (!folder) return fail(folder.error());
  Json verdicts = Json::array();
  std::vector<BenchRow> rows;
  const auto problems = problems_named(*folder, o.glob);
  const InterruptionGuard guard;
  Progress progress("bench");
  for (const auto& [path, name] : problems) {
    progress.show(name, rows.size(), problems.size(), "verdicts");
    const auto pack = choose_problem(o.folder, path);
    if (!pack) return fail(pack.error());
    const auto verdict = judge_reference(o, *pack);
    progress.clear();
    if (!verdict) {
      print_error("fabricbench: {}\n", verdict.error().list[0].message);
      return kExitNo;
    }
    if (rows.empty() && !o.json) print_head();
    rows.push_back(row_of(*verdict));
    if (!o.json) print_row(name, rows.back());
    Json one = {{"problem", path}, {"seconds", json_of(rows.back())}};
    one["processor_seconds"] = verdict->processor_seconds;
    one["wall_seconds"] = verdict->wall_seconds;
    verdicts.push_back(std::move(one));
  }
  if (rows.empty()) return fail(fmt::format("no problem matches {}", o.glob));
  Json all = {{"thoroughness", o.quick ? "quick" : "full"}, {"verdicts", std::move(verdicts)}};
  for (const auto& [name, row] : summaries(rows)) {
    if (!o.json) print_row(name, row);
    all[name] = json_of(row);
  }
  if (o.json) print_out("{}\n", dump(all));
  return kExitDone;
}

}  // namespace

void add_bench(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<BenchOptions>();
  BenchOptions& o = *options;
  Command& command = program.add_command("bench", "Measure what verdicts cost, with the references as candidates");
  command.footer(
      "Seconds of a processor per verdict, user and system, of all its processes: `all`, then its parts. `build`: the\n"
      "compilers, or the cache. `checked`, `timed`, `sensitivity`: the machine, in sessions without timed calls, with\n"
      "timed calls, and in those that measure sensitivities. `ranks`: the candidate's host code. `start`: starting "
      "and\n"
      "ending of sandboxes and programs. `oracle`: inputs and expected values. `compare`, `rest`: what the judge does\n"
      "besides. `overhead` is all / (build + machine); `per_hour` are verdicts per hour on one core. `wall` alone is\n"
      "wall time, and depends on what else this computer does.\n\n"
      "Examples:\n"
      "  fabricbench dev bench --quick --cached\n"
      "  fabricbench dev bench --cached --json | jq .median.all\n"
      "  fabricbench dev bench 'all_reduce*'");
  command.add_option("glob", o.glob, "Names of problems").show_default();
  command.add_flag("--quick", o.quick, "Quick checks");
  command.add_flag("--cached", o.cached, "Take candidates that were built before from the cache");
  command.add_flag("--json", o.json,
                   "As JSON: verdicts[].problem, .seconds, .processor_seconds; median, mean, largest");
  add_problems_option(command, o.folder);
  command.callback([options, &command_run] { command_run.exit_code = run(*options); });
}

}  // namespace fb::cli
