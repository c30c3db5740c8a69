#pragma once

// Dialects encode a request as JSON and decode the answer. A provider's row names its dialect and the spelling of what
// differs.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "campaign/llm/exchange.h"
#include "campaign/llm/provider.h"
#include "common/record/attempt.h"

namespace fb::llm {

struct WireRequest {
  std::string path;  // appended to the base address
  std::string body;
};

// The part of an answer that has arrived.
struct Answer {
  std::string text = {}, refusal = {};
  std::string stop_reason = {}, model = {}, id = {};
  std::optional<record::Usage> usage = {};
  std::optional<double> usd = {};  // if the provider reports it
  std::string error = {};          // an error instead of an answer, or in the middle of it
  bool error_is_final = false;     // a retry would not help
  bool stopped = false;            // the stop reason has arrived
  bool ended = false;              // nothing follows
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  // One event of a stream. Throws if it is not JSON.
  virtual void take_event(std::string_view data) = 0;
  // An answer in one piece.
  virtual void take_whole(std::string_view body) = 0;

  const Answer& answer() const { return answer_; }

 protected:
  // Records an error object {"error": {"message", "type", "code"}}; false if there is none.
  bool take_error(const Json& json);
  Answer answer_;
};

class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual WireRequest encode(const Provider& provider, const Request& request, bool stream) const = 0;
  virtual std::unique_ptr<Decoder> decoder(const Provider& provider) const = 0;
};
const Dialect& dialect(DialectName name);

// What an effort adds to the body. An error if the provider does not have this effort.
Result<Json> effort_fragment(const Provider& provider, std::string_view effort);
// Removes the reasoning that some servers leave before an answer, between <think> and </think>.
std::string without_thoughts(const std::string& text);
// The limit of output tokens of a call.
uint32_t output_limit(const Provider& provider, const record::ModelSpec& model);

// What a server has sent, as JSON. Throws if it is none, or nested deeper than any answer: what walks through it is
// recursive.
Json parse_json(std::string_view text);

// For the dialects.
const Dialect& openai_dialect();
const Dialect& anthropic_dialect();
const Dialect& gemini_dialect();
void add_settings(Json& body, const Provider& provider, const Request& request, bool stream);
// No provider accepts messages without text.
std::string text_or_note(const std::string& text);
// Members that may be missing, null or of a wrong type.
const Json& member(const Json& object, const char* name);  // an object
uint64_t count_of(const Json& object, const char* name);
std::string text_of(const Json& object, const char* name);

}  // namespace fb::llm
