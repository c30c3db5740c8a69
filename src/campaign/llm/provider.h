#pragma once

// A row of src/campaign/llm/providers.toml: address, key and request format of one provider.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/record/attempt.h"

namespace fb::llm {

using Json = nlohmann::ordered_json;

enum class DialectName : uint8_t { openai, anthropic, gemini };

struct Provider {
  std::string name = {};
  DialectName dialect = DialectName::openai;
  std::string base_url = {};                    // empty: the model must name one
  std::vector<std::string> key_variables = {};  // the first that is set is used
  bool key_optional = false;
  std::string key_header = {};  // with "$key" in it
  std::vector<std::string> headers = {};
  std::string token_limit = {}, temperature = {};  // where in the body: "generationConfig.maxOutputTokens"
  uint32_t max_output_tokens = 0;                  // unless the model sets a limit
  // What an effort adds to the body. "any" is for every word without an entry and contains "$effort"; "budget" is for
  // efforts that are numbers of tokens and contains "$budget".
  std::map<std::string, Json> effort = {};
  Json extra = Json::object();         // in every body
  Json stream_extra = Json::object();  // in every body that requests a stream
  bool cache_marks = false;            // prompts are cached only up to marks in the request
  bool think_tags = false;             // servers may leave "<think> … </think>" before the answer
  bool reports_cost = false;           // usage.cost is the price of the call
  std::chrono::seconds stall{600};     // a stream without a byte for this long has stalled
};

struct ProviderTable {
  std::vector<Provider> providers;
  std::map<std::string, record::AnswerEnd, std::less<>> stop_reasons;  // failed: the call is retried

  const Provider* find(std::string_view name) const;
  // "openai anthropic …"
  std::string names() const;
};

Result<ProviderTable> parse_providers(std::string_view toml);

// The installed table, read once.
Result<std::shared_ptr<const ProviderTable>> load_providers();

}  // namespace fb::llm
