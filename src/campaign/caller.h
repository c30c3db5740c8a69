#pragma once

// One call of a model in a process of its own, which outlives the campaign: the response of a paid call is kept even if
// the campaign is killed meanwhile.
//
// The caller holds a lock on the round's request.json while it runs. A request with neither a response nor a lock was
// lost with its caller; the call is repeated, and Call::lost counts it.

#include <optional>
#include <string>

#include "campaign/llm/ask.h"
#include "common/base/process.h"
#include "common/base/result.h"
#include "common/record/campaign.h"

namespace fb::campaign {

// Makes the call of the round's request.json and writes response.json, or failed.json if there is no answer.
Result<void> call_round(const std::string& run, const record::RoundId& round, const llm::AskOptions& options);

// Starts `program` (fabricbench) to do so; nothing if another process has the lock.
std::optional<Child> start_caller(const std::string& program, const std::string& run, const record::RoundId& round,
                                  const std::string& prices);

// Whether a caller of this or an earlier process of the campaign works on the round.
bool is_being_called(const std::string& run, const record::RoundId& round);

}  // namespace fb::campaign
