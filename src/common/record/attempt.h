#pragma once

// One attempt of a campaign: what a model was asked, what became of its answer, and the verdict. Plain structs and
// their JSON. The words: a *sample* is one independent try of a model at a problem; it has *rounds*, each after the
// first with feedback about the one before; one round is one attempt.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/record/verdict.h"

namespace fb::record {

// How a model is asked. Never holds a key.
struct ModelSpec {
  std::string label = {};     // how reports call it, and its folder: see is_label
  std::string provider = {};  // a row of the providers' table, or "command" or "recorded"
  std::string model = {};     // the provider's name for it; the command; the folder with the answers
  std::string base_url = {};  // where it is not the provider's own
  std::string effort = {};    // of reasoning: none, low, medium, high, …; empty: the provider's default
  std::optional<double> temperature = {};
  std::optional<uint32_t> max_output_tokens = {};
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

// Letters, digits, and ". _ - +" but not at the beginning; at most 80 of them.
bool is_label(std::string_view text);

struct Usage {
  uint64_t input_tokens = 0;        // all of them
  uint64_t cached_tokens = 0;       // those of the input that a cache had
  uint64_t cache_write_tokens = 0;  // those of the input that were put into one at a price
  uint64_t output_tokens = 0;       // all of them
  uint64_t reasoning_tokens = 0;    // those of the output that are not part of the answer
  friend bool operator==(const Usage&, const Usage&) = default;
};

enum class AnswerEnd : uint8_t {
  complete,
#define ANSWER_END(name, ...) name,
#include "common/record/verdict_classes.def"
};
inline constexpr std::array kAnswerEnds = {
    AnswerEnd::complete,
#define ANSWER_END(name, ...) AnswerEnd::name,
#include "common/record/verdict_classes.def"
};
std::string_view to_string(AnswerEnd end);
std::optional<AnswerEnd> answer_end_from(std::string_view name);

// One call of a model, with all its tries.
struct Call {
  AnswerEnd end = AnswerEnd::failed;
  std::string stop_reason = {};  // the provider's own word
  std::string error = {};        // why it failed, in one line
  std::string model = {};        // as the answer names it
  Usage usage = {};
  std::optional<double> usd = {};  // none: no price is known
  double seconds = 0;              // of the try that succeeded
  uint32_t tries = 0;
  uint32_t lost = 0;  // earlier tries without a recorded end; they may have been paid for
  friend bool operator==(const Call&, const Call&) = default;
};

struct Attempt {
  std::string model = {};  // label
  std::string problem = {};
  uint32_t sample = 1, round = 1;  // both from 1
  bool for_speed = false;          // a round after a pass that asks for a faster one
  Call call = {};
  std::optional<Verdict> verdict = {};  // none: there was nothing to judge
  bool cached = false;                  // the verdict is an earlier one on the same code
  friend bool operator==(const Attempt&, const Attempt&) = default;

  bool passed() const { return verdict && verdict->verdict == VerdictClass::pass; }
  // Whether it says something about the model (kOutcomes).
  bool counts() const;
};

// The verdict's class, else the end of the answer: of kOutcomes, or complete.
std::string_view outcome(const Attempt& attempt);

std::string to_json(const Attempt& attempt);
Result<Attempt> parse_attempt(std::string_view json);

std::string to_json(const Call& call);
Result<Call> parse_call(std::string_view json);

std::string to_json(const ModelSpec& model);
Result<ModelSpec> parse_model_spec(std::string_view json);

}  // namespace fb::record
