#pragma once

// The result of one session. It crosses from the process that ran the session to the judge as JSON.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "record/verdict.h"

namespace fb::judge {

using record::Ruling;

struct SessionOutcome : record::Evidence {
  std::optional<Ruling> finding = {};  // the first failure
};

std::string to_json(const SessionOutcome& outcome);
Result<SessionOutcome> parse_outcome(std::string_view json);

}  // namespace fb::judge
