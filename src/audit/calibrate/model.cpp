#include "audit/calibrate/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>

#include "common/base/installed.h"
#include "common/base/jobs.h"
#include "common/base/numbers.h"
#include "common/base/process.h"
#include "common/base/strings.h"

namespace fb::calibrate {
namespace {

constexpr std::chrono::minutes kTimeLimit{10};

// One execution of a program.
struct Run {
  std::string program, algorithm;
  uint32_t ranks = 0;
  bool cards = false;
  friend auto operator<=>(const Run&, const Run&) = default;
};
using Sizes = std::set<uint64_t>;
using Times = std::map<uint64_t, double>;  // size → microseconds

Run run_of(const Curve& curve, uint64_t size) {
  return {curve.program, curve.algorithm, curve.ranks != 0 ? curve.ranks : static_cast<uint32_t>(size), curve.cards};
}

bool is_exact(const Curve& curve, uint64_t size) { return curve.exact == 0 || size <= curve.exact; }

// "SIZE MICROSECONDS" in each line.
Times read_times(std::string_view text) {
  Times times;
  for (const auto line : split(text, '\n')) {
    const size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    const auto size = as_number<uint64_t>(line.substr(0, space));
    const auto time = as_number<double>(line.substr(space + 1));
    if (size && time && *time > 0) times[*size] = *time;
  }
  return times;
}

std::vector<std::string> command_of(const std::string& folder, const std::string& platform, const Run& run,
                                    const Sizes& sizes) {
  std::vector<std::string> command = {own_program(), "exec",
                                      "--platform",  platform,
                                      "--ranks",     std::to_string(run.ranks),
                                      "-std=c++20",  "-lcuda",
                                      "-lnccl",      fmt::format("{}/{}.cu", folder, run.program),
                                      "--"};
  if (run.cards) command.insert(command.begin() + 2, {"--virtual-clock", "-libverbs"});
  if (!run.algorithm.empty()) command.push_back(run.algorithm);
  for (const uint64_t size : sizes) command.push_back(std::to_string(size));
  return command;
}

Result<std::map<Run, Times>> run_all(const Curves& curves, const ModelOptions& options,
                                     const std::map<Run, Sizes>& wanted) {
  const std::vector<std::pair<Run, Sizes>> runs(wanted.begin(), wanted.end());
  const auto job = [&](size_t k) {
    const auto command = command_of(curves.folder, options.platform, runs[k].first, runs[k].second);
    return run_command(command, kTimeLimit).output;
  };
  const auto outputs = run_jobs(
      runs.size(), options.side_by_side, job,
      [&, done = size_t{0}](size_t, const auto&) mutable {
        if (options.on_progress) options.on_progress(++done, runs.size());
        return false;
      },
      JobSignals::delivered);
  std::map<Run, Times> all;
  Errors errors;
  for (size_t k = 0; k < runs.size(); ++k) {
    Times times = read_times(outputs[k]);
    const bool complete = std::ranges::all_of(runs[k].second, [&](uint64_t size) { return times.contains(size); });
    if (!complete) {
      errors.list.push_back({{},
                             fmt::format("{} {} on {} ranks gave no times:\n{}", runs[k].first.program,
                                         runs[k].first.algorithm, runs[k].first.ranks, outputs[k])});
    }
    all[runs[k].first] = std::move(times);
  }
  if (!errors.list.empty()) return std::unexpected(std::move(errors));
  return all;
}

// In a steady state time is linear in bytes: a line through the two largest sizes.
double along_a_line(uint64_t size, uint64_t half, double at_half, uint64_t whole, double at_whole) {
  const double slope = (at_whole - at_half) / static_cast<double>(whole - half);
  return at_whole + slope * static_cast<double>(size - whole);
}

double extrapolated(const Curve& curve, const Times& times, uint64_t size) {
  const uint64_t half = curve.exact / 2;
  return along_a_line(size, half, times.at(half), curve.exact, times.at(curve.exact));
}

}  // namespace

Result<std::vector<Modelled>> model_curves(const Curves& curves, const ModelOptions& options) {
  std::map<Run, Sizes> wanted;
  const auto is_wanted = [&](const Curve& curve) { return curve.split == CurveUse::fit || !options.fit_only; };
  for (const Curve& curve : curves.curves) {
    if (!is_wanted(curve)) continue;
    for (const Point& point : curve.points) {
      auto& sizes = wanted[run_of(curve, point.size)];
      if (is_exact(curve, point.size))
        sizes.insert(point.size);
      else
        sizes.insert({curve.exact / 2, curve.exact});
    }
  }
  const auto all = run_all(curves, options, wanted);
  if (!all) return std::unexpected(all.error());
  std::vector<Modelled> modelled(curves.curves.size());
  for (size_t c = 0; c < curves.curves.size(); ++c) {
    const Curve& curve = curves.curves[c];
    if (!is_wanted(curve)) continue;
    for (const Point& point : curve.points) {
      const Times& times = all->at(run_of(curve, point.size));
      const bool exact = is_exact(curve, point.size);
      const double time = exact ? times.at(point.size) : extrapolated(curve, times, point.size);
      const double host = curve.harness.before + curve.harness.per_byte * static_cast<double>(point.size);
      modelled[c].microseconds.push_back(std::max(time + host, curve.harness.at_least));
      modelled[c].extrapolated.push_back(!exact);
    }
  }
  return modelled;
}

Result<std::vector<Extrapolation>> compare_extrapolation(const Curves& curves, const ModelOptions& options) {
  std::map<Run, Sizes> wanted;
  std::map<Run, size_t> first;  // a run of several curves is compared once
  for (size_t c = 0; c < curves.curves.size(); ++c) {
    const Curve& curve = curves.curves[c];
    if (curve.exact == 0 || is_exact(curve, curve.points.back().size)) continue;
    const Run run = run_of(curve, curve.exact);
    if (first.emplace(run, c).second) wanted[run] = {curve.exact / 2, curve.exact, 2 * curve.exact};
  }
  const auto all = run_all(curves, options, wanted);
  if (!all) return std::unexpected(all.error());
  std::vector<Extrapolation> compared;
  for (const auto& [run, c] : first) {
    const uint64_t size = 2 * curves.curves[c].exact;
    const Times& times = all->at(run);
    compared.push_back({c, size, times.at(size), extrapolated(curves.curves[c], times, size)});
  }
  return compared;
}

}  // namespace fb::calibrate
