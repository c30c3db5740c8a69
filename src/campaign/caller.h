#pragma once

// One call of a model as a process of its own, which outlives the campaign: a call that was paid for is written down
// even if the campaign is killed while it lasts.
//
// The caller holds a lock on the round's request.json as long as it lives. A request without a response whose lock is
// free was lost with its caller; it is asked again, and the record says so (Call::lost).

#include <optional>
#include <string>

#include "base/process.h"
#include "base/result.h"
#include "llm/ask.h"
#include "record/campaign.h"

namespace fb::campaign {

// Asks what the round's request.json says and writes response.json, or failed.json where there is no answer.
Result<void> call_round(const std::string& run, const record::RoundId& round, const llm::AskOptions& options);

// Starts `program` (fabricbench) so that it does the above; nothing where somebody else is at it.
std::optional<Child> start_caller(const std::string& program, const std::string& run, const record::RoundId& round,
                                  const std::string& prices);

// Whether a caller, of this campaign or of a former life of it, is at work on the round.
bool is_being_called(const std::string& run, const record::RoundId& round);

}  // namespace fb::campaign
