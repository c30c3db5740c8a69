#pragma once

// Calls a model of any provider. Providers are rows of src/campaign/llm/providers.toml; docs/guide/models.md is for
// users.

#include <optional>
#include <string>
#include <string_view>

#include "campaign/llm/ask_options.h"
#include "campaign/llm/exchange.h"
#include "common/base/result.h"
#include "common/record/attempt.h"

namespace fb::llm {

// "openai:gpt-5.1,effort=high,temperature=0.2,max_tokens=32000,label=gpt-5.1-high", "openai-compatible:NAME,url=…",
// "command:./agent.sh --flag", "recorded:FOLDER". Without a label the model gets one from its name and effort.
Result<record::ModelSpec> parse_model(std::string_view text);

// False for commands and recorded answers.
bool costs_money(const record::ModelSpec& model);

// Checks provider, key, command or folder before anything starts.
Result<void> check_ready(const record::ModelSpec& model);

// Makes one call with all its tries. Nothing that a provider does makes it throw: the call has then failed and records
// why. Thread-safe.
Response ask(const Request& request, const AskOptions& options = {});

// An upper bound in USD of one try; none if no price is known. `prices` as in AskOptions.
std::optional<double> most_expensive(const Request& request, const std::string& prices = {});

}  // namespace fb::llm
