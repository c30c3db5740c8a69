#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "campaign/report/model_figures.h"
#include "campaign/report/notes.h"
#include "campaign/report/pooling.h"
#include "campaign/report/problem_facts.h"
#include "campaign/report/ranking.h"
#include "campaign/report/samples.h"
#include "campaign/report/summary.h"

namespace fb::report {
namespace {

using Indices = std::map<std::string, size_t, std::less<>>;

Result<std::vector<Problem>> problems_of(std::span<const record::Run> runs, std::vector<std::string>& notes) {
  std::map<std::string, Problem> found;
  std::set<std::string> changed;
  for (const record::Run& run : runs) {
    for (size_t k = 0; k < run.plan.problems.size(); ++k) {
      const std::string& name = run.plan.problems[k];
      Problem& problem = found[name];
      problem.name = name;
      if (k >= run.problems.size() || run.problems[k].empty()) continue;
      auto facts = read_problem(name, run.problems[k]);
      if (!facts) return error(to_string(facts.error(), record::problem_file(run.folder, name)));
      if (problem.known && problem.hash != facts->hash) changed.insert(name);
      if (!problem.known) problem = std::move(*facts);
    }
  }
  std::vector<Problem> problems;
  std::vector<std::string> unknown;
  for (auto& [name, problem] : found) {
    if (!problem.known) unknown.push_back(name);
    problems.push_back(std::move(problem));
  }
  if (!unknown.empty())
    notes.push_back(fmt::format("No facts about {}: the run has no file of it.", fmt::join(unknown, ", ")));
  if (!changed.empty())
    notes.push_back(fmt::format("Runs differ in the text of {}: their samples are of different problems.",
                                fmt::join(changed, ", ")));
  std::ranges::sort(problems, {}, [](const Problem& p) { return std::tie(p.track, p.category, p.level, p.name); });
  return problems;
}

// Puts the attempts of a run into the cells of their models.
Result<void> take_run(std::span<const record::Run> runs, size_t run, const Indices& problems, const Indices& models,
                      std::vector<Model>& all) {
  const std::vector<record::Attempt>& attempts = runs[run].attempts;
  for (size_t first = 0; first < attempts.size();) {
    const record::Attempt& a = attempts[first];
    size_t end = first + 1;
    while (end < attempts.size() && attempts[end].sample == a.sample && attempts[end].problem == a.problem &&
           attempts[end].model == a.model)
      ++end;
    const auto problem = problems.find(a.problem);
    const auto model = models.find(a.model);
    if (problem == problems.end() || model == models.end())
      return error(fmt::format("{} has an attempt of {} at {}, which its plan does not name", runs[run].folder, a.model,
                               a.problem));
    std::vector<Sample>& samples = all[model->second].cells[problem->second].samples;
    samples.push_back(sample_of(runs, run, first, static_cast<uint32_t>(end - first)));
    samples.back().number = static_cast<uint32_t>(samples.size());
    first = end;
  }
  return {};
}

std::vector<uint32_t> ks_of(const std::vector<Model>& models, std::vector<uint32_t> wanted) {
  if (!wanted.empty()) {
    std::ranges::sort(wanted);
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    return wanted;
  }
  size_t most = 1;
  for (const Model& model : models) {
    for (const Cell& cell : model.cells)
      most = std::max<size_t>(most, static_cast<size_t>(std::ranges::count_if(cell.samples, &Sample::counts)));
  }
  std::vector<uint32_t> ks;
  for (uint32_t k = 1; k <= most; ++k) ks.push_back(k);
  return ks;
}

void fill_problems(Summary& summary) {
  for (size_t k = 0; k < summary.problems.size(); ++k) {
    Problem& problem = summary.problems[k];
    double shares = 0;
    for (const Model& model : summary.models) {
      const Cell& cell = model.cells[k];
      if (cell.counted == 0) continue;
      ++problem.models;
      if (cell.passed > 0) ++problem.models_passed;
      shares += static_cast<double>(cell.passed) / cell.counted;
    }
    if (problem.models > 0) problem.pass_rate = shares / problem.models;
  }
}

}  // namespace

Result<Summary> summarise(std::span<const record::Run> runs, const SummaryOptions& options) {
  Summary summary;
  summary.options = options;
  for (const record::Run& run : runs) {
    const auto attempts = static_cast<uint32_t>(run.attempts.size());
    summary.runs.push_back({.folder = run.folder, .plan = run.plan, .attempts = attempts});
    summary.attempts += attempts;
  }
  auto problems = problems_of(runs, summary.notes);
  if (!problems) return std::unexpected(problems.error());
  summary.problems = std::move(*problems);
  Indices problem_index;
  for (size_t k = 0; k < summary.problems.size(); ++k) problem_index[summary.problems[k].name] = k;

  std::vector<Indices> model_index(runs.size());  // of each run: label in the run → model
  for (const Pooled& pooled : pool(runs, summary.notes)) {
    Model& model = summary.models.emplace_back();
    model.label = pooled.label;
    model.runs = pooled.runs;
    const record::CampaignPlan& plan = runs[pooled.runs[0]].plan;
    model.spec = *std::ranges::find(plan.models, pooled.in_runs, &record::ModelSpec::label);
    model.rounds = plan.rounds;
    model.speed_rounds = plan.speed_rounds;
    model.cells.resize(summary.problems.size());
    for (const size_t run : pooled.runs) model_index[run][pooled.in_runs] = summary.models.size() - 1;
  }
  for (size_t run = 0; run < runs.size(); ++run) {
    const auto taken = take_run(runs, run, problem_index, model_index[run], summary.models);
    if (!taken) return std::unexpected(taken.error());
  }
  const std::vector<uint32_t> ks = ks_of(summary.models, options.k);
  for (Model& model : summary.models) fill_model(runs, summary.problems, ks, options.good, model);
  rank(summary);
  fill_problems(summary);
  add_notes(runs, summary);
  return summary;
}

}  // namespace fb::report
