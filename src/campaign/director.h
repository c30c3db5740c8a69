#pragma once

// Carries out a campaign: calls models, has their answers judged, sends feedback, until every sample of the plan is
// done. Its whole state is in the run folder: a campaign that was killed at any moment can be resumed by another
// process.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "campaign/budget.h"
#include "campaign/executor.h"
#include "campaign/llm/ask.h"
#include "campaign/progress.h"
#include "campaign/prompts/prompt.h"
#include "common/record/campaign.h"
#include "judge/catalog/pack.h"

namespace fb::campaign {

struct DirectorOptions {
  std::string run;  // the folder, opened by open_run
  record::CampaignPlan plan;
  const catalog::Pack* pack = nullptr;  // has all problems of the plan
  prompts::Options prompt = {};
  std::string program = {};  // fabricbench, for callers
  // Budget, cache, sandbox: of the plan; prices: of the run's folder.
  uint32_t side_by_side = 1;  // sessions of one judgement
};

struct Outcome {
  Status status;
  std::vector<std::string> troubles;  // why samples were not finished, each once
  bool budget_spent = false;          // plan.max_usd does not allow the next call
  size_t callers_left = 0;            // after an interruption: calls that run on; a later process finds their responses
  bool complete() const { return status.done == status.samples; }
};

// An interruption (common/base/interruption.h) ends it early; the outcome then covers what is done.
Outcome carry_out(const DirectorOptions& options, Executor& executor, Progress& progress);

}  // namespace fb::campaign
