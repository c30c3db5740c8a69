#pragma once

// Creating the folder of a run, and resuming a run.

#include <functional>
#include <string>

#include "common/base/result.h"
#include "common/record/campaign.h"
#include "judge/catalog/pack.h"

namespace fb::campaign {

// What the user asks for, besides the plan of an existing run: models, problems and samples may be added; everything
// else must be equal or left out (empty, 0), which means unchanged.
struct Wish {
  record::CampaignPlan plan;   // seed 0: draw one; lists may be empty if the run exists
  bool samples_given = false;  // false: an existing run keeps its numbers
  bool rounds_given = false, speed_rounds_given = false;
  // Changes the settings that the user names (max_usd, calls, calls_per_minute, use_cache); the others stay.
  std::function<void(record::CampaignPlan&)> change_settings = {};
  std::string prices = {};  // file to take prices from; empty: the run's own, or for a new run the installed one
};

// Creates the folder or reads an existing one, adds what is new, and writes campaign.json and the facts of the
// problems. Errors name what differs from the existing run, or what is missing.
Result<record::CampaignPlan> open_run(const std::string& folder, const Wish& wish, const catalog::Pack& pack);

// The seed of all judgements of this round of this problem, independent of the model: equal answers get equal verdicts.
uint64_t judgement_seed(const record::CampaignPlan& plan, const record::RoundId& round);

}  // namespace fb::campaign
