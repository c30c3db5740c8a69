#pragma once

// One sample of a campaign, as its folder tells it: which round it is in, and what that round needs next.

#include <optional>
#include <string>

#include "base/result.h"
#include "llm/exchange.h"
#include "record/campaign.h"

namespace fb::campaign {

enum class Need : uint8_t {
  request,  // the model is to be asked; the round's request is to be written
  call,     // the request is there, the response is not
  verdict,  // an answer waits to be judged
  record,   // all is there but the attempt's record
  nothing,  // the sample is done
};

struct Standing {
  record::RoundId round;
  Need need = Need::request;
  bool for_speed = false;                        // this round asks for a faster solution
  bool passed = false;                           // some round did
  double usd = 0;                                // of all rounds that have a response
  std::optional<record::Attempt> previous = {};  // of the round before, where there is one
};

// Reads the files of a sample. `round` of the argument is ignored. Errors name a file that is damaged.
Result<Standing> look_at(const std::string& run, const record::CampaignPlan& plan, const record::RoundId& sample);

// Whether there is code to be judged.
inline bool is_judged(const llm::Response& response) { return response.call.end == record::AnswerEnd::complete; }

}  // namespace fb::campaign
