#pragma once

// Making the folder of a run, and coming back to it.

#include <string>

#include "base/result.h"
#include "catalog/pack.h"
#include "record/campaign.h"

namespace fb::campaign {

// What is asked for in addition to a plan that may be there: models, problems and samples may be added to a run, the
// rest must be the same or is left out (empty, 0) to mean "as it is".
struct Wish {
  record::CampaignPlan plan;   // seed 0: draw one; lists may be empty where the run exists
  bool samples_given = false;  // otherwise an existing run keeps its own numbers
  bool rounds_given = false, speed_rounds_given = false;
};

// Makes the folder or reads the one that is there, adds what is new, and writes campaign.json and the facts of the
// problems. Errors name what differs from what the run was begun with, or what is missing.
Result<record::CampaignPlan> open_run(const std::string& folder, const Wish& wish, const catalog::Pack& pack);

// Of all judgements of this round of this problem, whoever wrote the answer: equal answers get equal verdicts.
uint64_t judgement_seed(const record::CampaignPlan& plan, const record::RoundId& round);

}  // namespace fb::campaign
