#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/commands.h"
#include "cli/options/problem_choice.h"
#include "cli/text/failure.h"
#include "cli/text/progress.h"
#include "cli/timed_reference.h"
#include "common/base/interruption.h"
#include "common/base/output.h"

namespace fb::cli {
namespace {

struct SamplingOptions {
  std::string glob = "*", folder, platform;
  double most_median = 2, most = 8;  // per cent
};

constexpr int64_t kBeyond = 2;  // times the largest sample: large enough to tell, and small enough to run

// Every sampled size of the problem at twice its largest sample: once extrapolated, once run.
std::vector<catalog::SizeClass> both_ways(const catalog::Problem& problem) {
  std::vector<catalog::SizeClass> sizes;
  for (const catalog::SizeClass& size : problem.sizes) {
    if (!size.is_sampled()) continue;
    catalog::SizeClass sampled = size;
    int64_t& value = sampled.values.at(size.scale);
    value = std::min(value, kBeyond * size.samples.back().values.at(size.scale));
    catalog::SizeClass whole = {.name = size.name + " itself", .values = sampled.values, .timed = true};
    sizes.push_back(std::move(sampled));
    sizes.push_back(std::move(whole));
  }
  return sizes;
}

// In per cent of the time of the size itself; none where nothing is extrapolated.
std::optional<double> print_row(const std::string& problem, const record::Timing& sampled,
                                const record::Timing& whole) {
  const std::string at = fmt::format("{} = {}", sampled.scale, sampled.scale_value);
  print_out("{:<24} {:<14} {:<18}", problem, sampled.size, at);
  if (!sampled.refusal.empty()) {
    print_out(" {}\n", sampled.refusal);
    return {};
  }
  const double error = 100 * (sampled.seconds / whole.seconds - 1);
  const bool inside = sampled.line_range.low <= whole.seconds && whole.seconds <= sampled.line_range.high;
  print_out(" {:>9.2f} {:>9.2f} {:>+6.1f} %  {}\n", sampled.seconds * 1e6, whole.seconds * 1e6, error,
            inside ? "inside its interval" : "");
  flush(stdout);
  return error;
}

int conclude(std::vector<double> errors, size_t refused, const SamplingOptions& o) {
  if (errors.empty()) return fail("no size is extrapolated");
  for (double& e : errors) e = std::abs(e);
  std::ranges::sort(errors);
  const double median = errors[(errors.size() - 1) / 2];
  print_out("{} sizes, {} of them refused; errors: median {:.1f} %, largest {:.1f} %\n", errors.size() + refused,
            refused, median, errors.back());
  return refused == 0 && median <= o.most_median && errors.back() <= o.most ? kExitDone : kExitNo;
}

int run(const SamplingOptions& o) {
  const auto folder = problems_folder(o.folder);
  if (!folder) return fail(folder.error());
  const auto problems = problems_named(*folder, o.glob);
  if (problems.empty()) return fail(fmt::format("no problem matches {}", o.glob));
  print_out("{:<24} {:<14} {:<18} {:>9} {:>9} {:>8}\n", "reference", "size", "at", "line, us", "run, us", "error");
  std::vector<double> errors;
  size_t refused = 0;
  const InterruptionGuard guard;
  Progress progress("sampling");
  size_t begun = 0;
  for (const auto& [path, name] : problems) {
    progress.show(name, begun++, problems.size(), "problems");
    auto pack = choose_problem(o.folder, path);
    if (!pack) return fail(pack.error());
    catalog::Problem& problem = pack->problems.front();
    problem.sizes = both_ways(problem);
    if (problem.sizes.empty()) continue;
    const auto timed = time_reference(*pack, o.platform);
    progress.clear();
    if (!timed) return fail(timed.error());
    for (size_t k = 0; k + 1 < timed->timings.size(); k += 2) {
      const auto error = print_row(name, timed->timings[k], timed->timings[k + 1]);
      if (error) errors.push_back(*error);
      if (!error) ++refused;
    }
  }
  return conclude(std::move(errors), refused, o);
}

}  // namespace

void add_sampling(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<SamplingOptions>();
  SamplingOptions& o = *options;
  Command& command = program.add_command("sampling", "Compare extrapolated times with those of the sizes themselves");
  command.footer(
      "Sizes that are too large to run are timed at smaller ones, their samples, and extrapolated. For each such size\n"
      "of the references the time at twice the largest sample: on the line through the samples, and of a run. Exit\n"
      "code: 0 nothing is refused and errors are within --most-median and --most, 1 otherwise.\n\n"
      "Examples:\n"
      "  fabricbench dev sampling 'all_reduce*'");
  command.add_option("glob", o.glob, "Names of problems").show_default();
  command.add_option("--platform", o.platform, "Instead of each problem's own");
  command.add_option("--most-median", o.most_median, "Per cent that the median of errors may be").show_default();
  command.add_option("--most", o.most, "Per cent that the largest error may be").show_default();
  add_problems_option(command, o.folder);
  command.callback([options, &command_run] { command_run.exit_code = run(*options); });
}

}  // namespace fb::cli
