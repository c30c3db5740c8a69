#pragma once

// A row of data/providers.toml: how one provider wants to be spoken to.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/attempt.h"

namespace fb::llm {

using Json = nlohmann::ordered_json;

enum class DialectName : uint8_t { openai, anthropic, gemini };

struct Provider {
  std::string name = {};
  DialectName dialect = DialectName::openai;
  std::string base_url = {};                    // empty: the model must bring one
  std::vector<std::string> key_variables = {};  // the first that is set counts
  bool key_optional = false;
  std::string key_header = {};  // with "$key" in it
  std::vector<std::string> headers = {};
  std::string token_limit = {}, temperature = {};  // where in the body: "generationConfig.maxOutputTokens"
  uint32_t max_output_tokens = 0;                  // where the model says nothing
  // What an effort adds to the body; "any" stands for every word without an entry and has "$effort" in it, "budget" is
  // for efforts that are numbers of tokens and has "$budget".
  std::map<std::string, Json> effort = {};
  Json extra = Json::object();         // what every body has
  Json stream_extra = Json::object();  // and every one that asks for a stream
  bool cache_marks = false;            // prompts are cached only up to where the request says so
  bool think_tags = false;             // servers may leave "<think> … </think>" in front of the answer
  bool reports_cost = false;           // usage.cost is the price of the call
  std::chrono::seconds stall{600};     // silent for so long: it is not coming
};

struct ProviderTable {
  std::vector<Provider> providers;
  std::map<std::string, record::AnswerEnd, std::less<>> stop_reasons;  // failed: to be asked again

  const Provider* find(std::string_view name) const;
  // "openai anthropic …"
  std::string names() const;
};

Result<ProviderTable> parse_providers(std::string_view toml);

// The table that came with us, read once.
Result<std::shared_ptr<const ProviderTable>> load_providers();

}  // namespace fb::llm
