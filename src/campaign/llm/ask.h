#pragma once

// Calls a model of any provider. Providers are rows of src/campaign/llm/providers.toml; docs/guide/models.md is for
// users.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

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

struct AskOptions {
  bool stream = true;  // false: whole answers, in which a stall can't be told from long reasoning
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(20);
  std::optional<std::chrono::milliseconds> stall_timeout = {};      // without a byte; none: as in the provider's row
  std::chrono::milliseconds try_timeout = std::chrono::hours(1);    // of one try, and of a command
  std::chrono::milliseconds total_timeout = std::chrono::hours(3);  // of all tries and the waits between them
  uint32_t max_tries = 6;
  std::chrono::milliseconds first_wait = std::chrono::seconds(2);    // doubled after every try
  std::chrono::milliseconds longest_wait = std::chrono::minutes(2);  // unless the provider names a time
  size_t most_bytes = size_t{64} << 20;                              // of an answer
  std::string prices = {};                                           // a file instead of the installed one
  std::function<void(std::chrono::milliseconds)> sleep = {};         // called instead of sleeping between tries
  std::function<bool()> cancelled = {};  // polled several times a second; a cancelled call has failed
};

// Makes one call with all its tries. Nothing that a provider does makes it throw: the call has then failed and records
// why. Thread-safe.
Response ask(const Request& request, const AskOptions& options = {});

// An upper bound in USD of one try; none if no price is known. `prices` as in AskOptions.
std::optional<double> most_expensive(const Request& request, const std::string& prices = {});

}  // namespace fb::llm
