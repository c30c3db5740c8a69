#pragma once

// Carries out a campaign: asks models, has their answers judged, feeds back, until every sample of the plan is done.
// Everything it knows stands in the run folder: it may be killed at any moment, and another one goes on.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "campaign/executor.h"
#include "campaign/progress.h"
#include "catalog/pack.h"
#include "llm/ask.h"
#include "prompts/prompt.h"
#include "record/campaign.h"

namespace fb::campaign {

struct DirectorOptions {
  std::string run;  // the folder, opened by open_run
  record::CampaignPlan plan;
  const catalog::Pack* pack = nullptr;  // has all problems of the plan
  prompts::Options prompt = {};
  std::string program = {};  // fabricbench, for callers
  size_t calls = 4;          // at once
  std::optional<double> calls_per_minute = {};
  std::optional<double> max_usd = {};  // of all lives of the run together
  std::string prices = {};             // file; empty: the one that came with us
  bool use_cache = true, use_sandbox = true;
  uint32_t side_by_side = 1;  // sessions of one judgement
};

struct Outcome {
  Status status;
  std::vector<std::string> troubles;  // why samples were left for another time, each once
  size_t callers_left = 0;            // at an interruption: calls that go on and will be found later
  bool complete() const { return status.done == status.samples; }
};

// An interruption (base/interruption.h) ends it early, with what there is.
Outcome carry_out(const DirectorOptions& options, Executor& executor, Progress& progress);

}  // namespace fb::campaign
