#pragma once

// Runs made in memory: one line for each attempt.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/record/campaign.h"

namespace fb::report {

inline record::Run made_run(const std::vector<std::string>& models, const std::vector<std::string>& problems,
                            uint32_t rounds = 1) {
  record::Run run;
  run.folder = "runs/made";
  run.plan.name = "made";
  for (const std::string& model : models) run.plan.models.push_back({.label = model, .provider = "recorded"});
  run.plan.problems = problems;
  run.plan.rounds = rounds;
  for (const std::string& problem : problems)
    run.problems.push_back(fmt::format(
        R"({{"name": "{}", "track": "comm", "category": "p2p", "library": "cuda", "level": 1, "hash": "h"}})",
        problem));
  return run;
}

// `outcome`: a class of verdicts, or how a call ended.
inline record::Attempt made_attempt(std::string model, std::string problem, uint32_t sample, uint32_t round,
                                    std::string_view outcome, std::optional<double> speed = {},
                                    std::optional<double> sol = {}) {
  record::Attempt attempt;
  attempt.model = std::move(model);
  attempt.problem = std::move(problem);
  attempt.sample = sample;
  attempt.round = round;
  if (const auto end = record::answer_end_from(outcome)) {
    attempt.call.end = *end;
    return attempt;
  }
  attempt.call.end = record::AnswerEnd::complete;
  attempt.verdict.emplace();
  attempt.verdict->verdict = record::verdict_class_from(outcome).value();
  attempt.verdict->speed = speed;
  attempt.verdict->sol = sol;
  return attempt;
}

}  // namespace fb::report
