#include "cli/text/measured_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "cli/options/problem_choice.h"
#include "common/base/strings.h"
#include "common/record/measured.h"
#include "judge/standalone/problem_source.h"
#include "judge/standalone/write_folder.h"

namespace fb::cli {
namespace {

Result<record::Measured> read_results(const std::string& file) {
  std::string text;
  try {
    text = read_file(file);
  } catch (const std::system_error& e) {
    return error(e.what());
  }
  auto measured = record::parse_measured(text);
  if (!measured) return error(fmt::format("{}: {}", file, to_string(measured.error(), "")));
  for (const record::MeasuredRow& row : measured->rows) {
    if (std::ranges::any_of(row.us, [](double us) { return !std::isfinite(us) || us <= 0; }))
      return error(fmt::format("{}: a time of size {} is no positive number", file, row.size));
  }
  return measured;
}

// The attempt whose code was exported as this solution.
const record::Attempt* attempt_of(const catalog::Problem& problem, const std::string& checksum,
                                  std::span<const record::Run> runs) {
  for (const record::Run& run : runs) {
    for (const record::Attempt& attempt : run.attempts) {
      if (attempt.problem != problem.name || !attempt.verdict) continue;
      const std::string file = record::round_file(
          run.folder,
          {.model = attempt.model, .problem = attempt.problem, .sample = attempt.sample, .round = attempt.round},
          "answer.md");
      if (!std::filesystem::exists(file)) continue;
      const auto source = standalone::whole_source(problem, read_file(file));
      if (source && record::source_checksum(*source) == checksum) return &attempt;
    }
  }
  return nullptr;
}

// Of a timing of this size and world, by what was timed; 0: not known.
double modelled_seconds(const record::Verdict& verdict, const record::MeasuredRow& row, int world) {
  for (const record::Timing& timing : verdict.timings) {
    if (timing.size != row.size || timing.world != world) continue;
    if (row.solution == "reference") return timing.reference_seconds;
    if (row.solution == "baseline") return timing.baseline_seconds;
    return row.solution == "solution" ? timing.seconds : 0;
  }
  return 0;
}

}  // namespace

Result<std::vector<report::MeasuredTime>> read_measured(const std::vector<std::string>& files,
                                                        std::span<const record::Run> runs,
                                                        const std::string& problems) {
  std::vector<report::MeasuredTime> rows;
  for (const std::string& file : files) {
    const auto measured = read_results(file);
    if (!measured) return std::unexpected(measured.error());
    if (measured->modelled)
      return error(fmt::format("{}: it ran on a virtual node, where times are modelled and not measured", file));
    const auto pack = choose_problem(problems, measured->problem);
    if (!pack) return std::unexpected(pack.error());
    const catalog::Problem& problem = pack->problems.front();
    const std::string task = standalone::task_hash(problem);
    if (measured->task != task) {
      return error(fmt::format("{}: {} was another task when it was exported (hash {}, now {}): export it again", file,
                               problem.name, measured->task, task));
    }
    const auto named = measured->solutions.find("solution");
    const record::Attempt* own =
        named == measured->solutions.end() ? nullptr : attempt_of(problem, named->second, runs);
    for (const record::MeasuredRow& row : measured->rows) {
      report::MeasuredTime one{.problem = problem.name,
                               .size = row.size,
                               .solution = row.solution,
                               .gpu = measured->gpu.name,
                               .world = measured->world,
                               .right = row.right};
      if (!row.us.empty()) {
        auto sorted = row.us;
        std::ranges::sort(sorted);
        one.us = sorted[sorted.size() / 2];
        one.low = sorted.front();
        one.high = sorted.back();
      }
      if (row.solution == "solution") {
        if (own) {
          one.label = own->model;
          one.outcome = record::outcome(*own);
          one.modelled_us = modelled_seconds(*own->verdict, row, measured->world) * 1e6;
        }
      } else {
        for (const record::Run& run : runs) {
          for (const record::Attempt& attempt : run.attempts) {
            if (attempt.problem == problem.name && attempt.verdict && one.modelled_us == 0)
              one.modelled_us = modelled_seconds(*attempt.verdict, row, measured->world) * 1e6;
          }
        }
      }
      rows.push_back(std::move(one));
    }
  }
  return rows;
}

}  // namespace fb::cli
