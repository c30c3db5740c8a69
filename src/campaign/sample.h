#pragma once

// The state of one sample of a campaign, read from its folder: the current round and its next step.

#include <optional>
#include <string>

#include "campaign/llm/exchange.h"
#include "common/base/result.h"
#include "common/record/campaign.h"

namespace fb::campaign {

enum class Need : uint8_t {
  request,  // the round's request must be written
  call,     // there is a request and no response
  verdict,  // the answer must be judged
  record,   // only the attempt's record is missing
  nothing,  // the sample is done
};

struct Standing {
  record::RoundId round;
  Need need = Need::request;
  bool for_speed = false;                        // this round asks for a faster solution
  bool passed = false;                           // a round has passed
  double usd = 0;                                // of all rounds with a response, where the price is known
  size_t unpriced = 0;                           // rounds with a response whose price is not known
  std::optional<record::Attempt> previous = {};  // of the previous round, if there is one
};

// Reads the files of a sample. `round` of the argument is ignored. Errors name a file that is damaged.
Result<Standing> look_at(const std::string& run, const record::CampaignPlan& plan, const record::RoundId& sample);

// Whether the response has code to judge.
inline bool is_judged(const llm::Response& response) { return response.call.end == record::AnswerEnd::complete; }

}  // namespace fb::campaign
