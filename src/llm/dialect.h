#pragma once

// The ways to put a request into JSON and to get the answer out of it again. A provider's row says which one it speaks
// and how it spells what differs.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "llm/exchange.h"
#include "llm/provider.h"
#include "record/attempt.h"

namespace fb::llm {

struct WireRequest {
  std::string path;  // behind the base address
  std::string body;
};

// An answer as far as it has been seen.
struct Answer {
  std::string text = {}, refusal = {};
  std::string stop_reason = {}, model = {}, id = {};
  std::optional<record::Usage> usage = {};
  std::optional<double> usd = {};  // where the provider itself says it
  std::string error = {};          // an error in place of an answer, or in the middle of it
  bool error_is_final = false;     // asking again would not help
  bool stopped = false;            // the reason why it ended has been seen
  bool ended = false;              // nothing follows
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  // One event of a stream; what is no JSON makes it throw.
  virtual void take_event(std::string_view data) = 0;
  // An answer in one piece.
  virtual void take_whole(std::string_view body) = 0;

  const Answer& answer() const { return answer_; }

 protected:
  // Notes an error object {"error": {"message", "type", "code"}}; false where there is none.
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

// What an effort adds to the body. An error where the provider has no such thing.
Result<Json> effort_fragment(const Provider& provider, std::string_view effort);
// Without the thoughts that some servers leave in front of an answer, between <think> and </think>.
std::string without_thoughts(const std::string& text);
// What a call may write at most.
uint32_t output_limit(const Provider& provider, const record::ModelSpec& model);

// For the dialects.
const Dialect& openai_dialect();
const Dialect& anthropic_dialect();
const Dialect& gemini_dialect();
void add_settings(Json& body, const Provider& provider, const Request& request, bool stream);
// No provider takes messages without text.
std::string text_or_note(const std::string& text);
// Members that may be missing, null or nonsense.
const Json& member(const Json& object, const char* name);  // an object
uint64_t count_of(const Json& object, const char* name);
std::string text_of(const Json& object, const char* name);

}  // namespace fb::llm
