#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/options/device_compiler_option.h"
#include "cli/options/problem_choice.h"
#include "cli/text/failure.h"
#include "cli/text/progress.h"
#include "common/base/interruption.h"
#include "common/base/output.h"
#include "judge/judge.h"
#include "judge/score/extrapolation.h"

namespace fb::cli {
namespace {

struct TimesOptions {
  std::string problems, platform, device_compiler;
  ProblemFilter filter;
  bool markdown = false;
};

// One timed size of a problem.
struct TimesRow {
  const catalog::Problem* problem = nullptr;
  std::string size, refusal;
  double limit = 0;
  std::optional<double> reference, baseline;  // seconds
  std::string bound;                          // of the reference, or else of the baseline
};

// Of all timed sizes, in the order of the problem.
Result<std::vector<TimesRow>> rows_of(const catalog::Pack& pack, const catalog::Problem& problem,
                                      const TimesOptions& o) {
  judge::JudgeRequest request;
  request.pack = &pack;
  request.problem = &problem;
  request.platform = o.platform;
  request.device_compiler = toolchain::device_compiler_of(o.device_compiler);
  Result<std::vector<record::Timing>> reference, baseline;
  if (problem.has_expert) reference = judge::yardstick_times(request, judge::Yardstick::reference);
  if (!problem.baseline.empty()) baseline = judge::yardstick_times(request, judge::Yardstick::baseline);
  if (!reference) return std::unexpected(reference.error());
  if (!baseline) return std::unexpected(baseline.error());

  std::vector<TimesRow> rows;
  for (size_t k = 0; k < std::max(reference->size(), baseline->size()); ++k) {
    const record::Timing* fast = k < reference->size() ? &(*reference)[k] : nullptr;
    const record::Timing* plain = k < baseline->size() ? &(*baseline)[k] : nullptr;
    const record::Timing& best = fast != nullptr ? *fast : *plain;
    // The limit of a size that is not extrapolated is that of its largest sample.
    const record::Timing& meant = plain != nullptr && !plain->refusal.empty() ? *plain : best;
    TimesRow row{.problem = &problem,
                 .size = best.size,
                 .refusal = meant.refusal,
                 .limit = meant.limit_seconds,
                 .reference = {},
                 .baseline = {},
                 .bound = best.bound};
    if (fast != nullptr) row.reference = fast->seconds;
    if (plain != nullptr) row.baseline = plain->seconds;
    if (fast != nullptr && plain != nullptr) {
      const auto [of_reference, of_baseline] = judge::comparable_seconds(*fast, *plain);
      row.reference = of_reference;
      row.baseline = of_baseline;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string microseconds(std::optional<double> seconds) {
  return seconds ? fmt::format("{:.1f}", *seconds * 1e6) : "-";
}

void print(const TimesRow& row, const TimesOptions& o) {
  const double best = row.reference.value_or(row.baseline.value_or(0));
  const std::string ratio = row.reference && row.baseline ? fmt::format("{:.2f}", *row.baseline / *row.reference) : "-";
  const std::string share = best > 0 ? fmt::format("{:.0f} %", 100 * row.limit / best) : "-";
  const std::string bound = row.refusal.empty() ? row.bound : "largest sample: " + row.refusal;
  if (o.markdown) {
    // Without the figures behind it.
    print_out("| `{}` | {} | {} | {} | {} | {} | {} | {} |\n", row.problem->name, row.size, microseconds(row.baseline),
              microseconds(row.reference), ratio, microseconds(row.limit), share, bound.substr(0, bound.find(" (")));
  } else {
    print_out("{:<30} {:<12} {:>10} {:>10} {:>7} {:>10} {:>6}  {}\n", row.problem->name, row.size,
              microseconds(row.baseline), microseconds(row.reference), ratio, microseconds(row.limit), share, bound);
  }
  flush(stdout);
}

// By problem: the geometric mean over its sizes.
void conclude(const std::vector<TimesRow>& rows) {
  double all = 0;
  size_t problems = 0, faster = 0;
  for (auto begin = rows.begin(); begin != rows.end();) {
    const auto end = std::find_if(begin, rows.end(), [&](const TimesRow& r) { return r.problem != begin->problem; });
    double sum = 0;
    for (auto row = begin; row != end; ++row) {
      if (row->reference && row->baseline) sum += std::log(*row->baseline / *row->reference);
    }
    if (begin->reference && begin->baseline) {
      const double mean = sum / static_cast<double>(end - begin);
      all += mean;
      ++problems;
      if (mean > 0) ++faster;
    }
    begin = end;
  }
  if (problems == 0) return;
  print_out("\n{} of {} references are faster than their baseline; geometric mean of baseline / reference: {:.2f}\n",
            faster, problems, std::exp(all / static_cast<double>(problems)));
}

int run(const TimesOptions& o) {
  const auto folder = problems_folder(o.problems);
  if (!folder) return fail(folder.error());
  Errors errors;
  const catalog::Pack pack = catalog::read_pack(*folder, errors);
  warn(errors);
  if (!errors.list.empty()) return kExitUsage;
  std::vector<const catalog::Problem*> chosen;
  for (const catalog::Problem& problem : pack.problems) {
    if (matches(problem, o.filter)) chosen.push_back(&problem);
  }
  if (chosen.empty()) return fail(none_matches(pack, o.filter));
  if (o.markdown) {
    print_out(
        "| problem | size | baseline, µs | reference, µs | times as fast | limit, µs | of the limit | bound |\n"
        "|---|---|---|---|---|---|---|---|\n");
  } else {
    print_out("{:<30} {:<12} {:>10} {:>10} {:>7} {:>10} {:>6}  {}\n", "problem", "size", "baseline", "reference",
              "ratio", "limit", "of it", "microseconds; the limit's share, and what bounds the reference");
  }
  const InterruptionGuard guard;
  Progress progress("times");
  std::vector<TimesRow> all;
  bool failed = false;
  for (size_t k = 0; k < chosen.size(); ++k) {
    const catalog::Problem& problem = *chosen[k];
    progress.show(problem.name, k, chosen.size(), "problems");
    const auto rows = rows_of(pack, problem, o);
    progress.clear();
    if (!rows) {
      failed = true;
      warn(Errors(fmt::format("{}: {}", problem.name, rows.error().list[0].message)));
      continue;
    }
    for (const TimesRow& row : *rows) print(row, o);
    all.insert(all.end(), rows->begin(), rows->end());
  }
  conclude(all);
  return failed ? kExitNo : kExitDone;
}

}  // namespace

void add_times(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<TimesOptions>();
  TimesOptions& o = *options;
  Command& command = program.add_command("times", "Print how long references and baselines take");
  command.footer(
      "Of every timed size: the baseline's and the reference's modelled time in microseconds, baseline / reference, "
      "the\n"
      "hardware's limit and its share of the reference's time (where there is none, of the baseline's), and what "
      "bounds\n"
      "it. Times that are known from verdicts are taken from the cache. Exit code: 0 done, 1 a solution does not "
      "pass.\n\n"
      "Examples:\n"
      "  fabricbench dev times --track kernel\n"
      "  fabricbench dev times 'all_reduce*' --platform b300x8");
  command.add_option("GLOB", o.filter.globs, "Names of problems, such as 'all_*' or 'p2p/*' (default: all)");
  add_filter_options(command, o.filter);
  command.add_flag("--markdown", o.markdown, "As a table of Markdown");
  command.add_option("--platform", o.platform, "Instead of each problem's own");
  add_device_compiler_option(command, o.device_compiler);
  add_problems_option(command, o.problems);
  command.callback([options, &command_run] { command_run.exit_code = run(*options); });
}

}  // namespace fb::cli
