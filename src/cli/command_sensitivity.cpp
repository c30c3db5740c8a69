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
#include "common/platform/group.h"

namespace fb::cli {
namespace {

struct SensitivityOptions {
  std::string glob = "*", folder, platform;
  double most = 3;  // points
};

// In per cent of the time, by group.
struct Compared {
  std::string problem, size;
  platform::ByGroup told = {}, by_runs = {};

  // Twice as slow in everything is twice as slow: the slopes of a smooth time add up to 100 %. Bytes in flight are no
  // time. Where they do not, steps of the time (a poll more, another slot of a link) hide its slope.
  bool is_smooth() const {
    double sum = 0;
    for (const platform::Group group : platform::kGroups)
      if (group != platform::Group::in_flight) sum += by_runs[static_cast<size_t>(group)];
    constexpr double kRoom = 3;
    return std::abs(sum - 100) <= kRoom;
  }
};

void print(const Compared& c, double most) {
  print_out("{:<22} {:<14}", c.problem, c.size);
  for (size_t g = 0; g < c.told.size(); ++g) {
    const bool apart = std::abs(c.told[g] - c.by_runs[g]) > most;
    print_out(" {:>5.1f} {:>5.1f} {}", c.told[g], c.by_runs[g], apart ? '!' : ' ');
  }
  print_out(" {}\n", c.is_smooth() ? "" : "not smooth");
  flush(stdout);
}

Compared compare(const std::string& problem, const record::Timing& told, const record::Timing& by_runs) {
  Compared c{.problem = problem, .size = told.size};
  for (const platform::Group group : platform::kGroups) {
    const std::string key(name_of(group));
    c.told[static_cast<size_t>(group)] = 100 * told.sensitivity.at(key);
    c.by_runs[static_cast<size_t>(group)] = 100 * by_runs.sensitivity.at(key);
  }
  return c;
}

int conclude(const std::vector<Compared>& all, double most) {
  std::vector<double> differences;
  size_t smooth = 0;
  for (const Compared& c : all) {
    if (!c.is_smooth()) continue;
    ++smooth;
    for (const platform::Group group : platform::kGroups) {
      const auto g = static_cast<size_t>(group);
      if (group != platform::Group::in_flight) differences.push_back(std::abs(c.told[g] - c.by_runs[g]));
    }
  }
  if (differences.empty()) return fail("no time is smooth enough to be compared");
  std::ranges::sort(differences);
  const auto at = [&](double part) { return differences[static_cast<size_t>(part * double(differences.size() - 1))]; };
  print_out(
      "{} timed calls, {} of them smooth; of these, differences in points: median {:.1f}, p90 {:.1f}, largest "
      "{:.1f}\n",
      all.size(), smooth, at(0.5), at(0.9), differences.back());
  return at(0.9) <= most ? kExitDone : kExitNo;
}

int run(const SensitivityOptions& o) {
  const auto folder = problems_folder(o.folder);
  if (!folder) return fail(folder.error());
  print_out("{:<22} {:<14}", "reference", "size");
  for (const platform::Group group : platform::kGroups) print_out(" {:>12} ", name_of(group));
  print_out("\n");
  std::vector<Compared> all;
  const auto problems = problems_named(*folder, o.glob);
  const InterruptionGuard guard;
  Progress progress("sensitivity");
  size_t begun = 0;
  for (const auto& [path, name] : problems) {
    progress.show(name, begun++, problems.size(), "problems");
    const auto pack = choose_problem(o.folder, path);
    if (!pack) return fail(pack.error());
    const auto told = time_reference(*pack, o.platform);
    const auto by_runs = time_reference(*pack, o.platform, {0.9, 0.95, 1.05, 1.1});
    progress.clear();
    if (!told) return fail(told.error());
    if (!by_runs) return fail(by_runs.error());
    for (size_t k = 0; k < told->timings.size(); ++k)
      print(all.emplace_back(compare(name, told->timings[k], by_runs->timings[k])), o.most);
  }
  if (all.empty()) return fail(fmt::format("no problem matches {}", o.glob));
  return conclude(all, o.most);
}

}  // namespace

void add_sensitivity(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<SensitivityOptions>();
  SensitivityOptions& o = *options;
  Command& command =
      program.add_command("sensitivity", "Compare how times scale with a platform's constants with further runs");
  command.footer(
      "For each timed call of the references and each group of constants two figures, in per cent of the time: what\n"
      "the call itself tells of the time it is made of, and the slope of its times on platforms that are faster and\n"
      "slower in this group. Differences beyond --most are marked. Times are \"not smooth\" where the slopes do not "
      "add\n"
      "up: then they say little. Exit code: 0 nine of ten differences of smooth times are within --most, 1 fewer "
      "are.\n\n"
      "Examples:\n"
      "  fabricbench dev sensitivity 'all_reduce*'");
  command.add_option("glob", o.glob, "Names of problems").show_default();
  command.add_option("--platform", o.platform, "Instead of each problem's own");
  command.add_option("--most", o.most, "Points by which both may differ").show_default();
  add_problems_option(command, o.folder);
  command.callback([options, &command_run] { command_run.exit_code = run(*options); });
}

}  // namespace fb::cli
