#include "common/record/attempt.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>
#include <utility>

#include "common/record/attempt_fields.h"

namespace fb::record {
namespace {

constexpr std::array<std::string_view, kAnswerEnds.size()> kNames = {
    "complete",
#define ANSWER_END(name, ...) #name,
#include "common/record/verdict_classes.def"
};

}  // namespace

bool is_label(std::string_view text) {
  constexpr size_t kLongest = 80;
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 && c < 0x80; };
  return !text.empty() && text.size() <= kLongest && is_plain(static_cast<unsigned char>(text.front())) &&
         std::ranges::all_of(text, [&](unsigned char c) {
           return is_plain(c) || std::string_view("._-+").find(static_cast<char>(c)) != std::string_view::npos;
         });
}

std::string_view to_string(AnswerEnd end) { return kNames[static_cast<size_t>(end)]; }

std::optional<AnswerEnd> answer_end_from(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  return found == kNames.end() ? std::nullopt : std::optional(kAnswerEnds[static_cast<size_t>(found - kNames.begin())]);
}

bool Attempt::counts() const {
  const Outcome* const known = outcome_named(outcome(*this));
  return known == nullptr || known->counts;
}

std::string_view outcome(const Attempt& attempt) {
  return attempt.verdict ? to_string(attempt.verdict->verdict) : to_string(attempt.call.end);
}

void require_label(const std::string& label) {
  if (!is_label(label)) throw std::runtime_error("'" + label + "' can't be the label of a model");
}

std::string to_json(const Attempt& attempt) { return dump(to_json_value(attempt)); }
Result<Attempt> parse_attempt(std::string_view text) { return parse_fields<Attempt>(text, "an attempt"); }

std::string to_json(const Call& call) { return dump(to_json_value(call)); }
Result<Call> parse_call(std::string_view text) { return parse_fields<Call>(text, "a call"); }

std::string to_json(const ModelSpec& model) { return dump(to_json_value(model)); }
Result<ModelSpec> parse_model_spec(std::string_view text) { return parse_fields<ModelSpec>(text, "a model"); }

}  // namespace fb::record
