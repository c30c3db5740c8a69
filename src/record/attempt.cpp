#include "record/attempt.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>
#include <utility>

#include "record/json_fields.h"

namespace fb::record {
namespace {

constexpr std::array<std::pair<AnswerEnd, std::string_view>, 5> kAnswerEnds = {{
    {AnswerEnd::complete, "complete"},
    {AnswerEnd::truncated, "truncated"},
    {AnswerEnd::refused, "refused"},
    {AnswerEnd::empty, "empty"},
    {AnswerEnd::failed, "failed"},
}};

Json to_value(const Usage& u) {
  return {{"input_tokens", u.input_tokens},
          {"cached_tokens", u.cached_tokens},
          {"cache_write_tokens", u.cache_write_tokens},
          {"output_tokens", u.output_tokens},
          {"reasoning_tokens", u.reasoning_tokens}};
}

Usage usage_from(const Json& json) {
  Usage u;
  take(json, "input_tokens", u.input_tokens);
  take(json, "cached_tokens", u.cached_tokens);
  take(json, "cache_write_tokens", u.cache_write_tokens);
  take(json, "output_tokens", u.output_tokens);
  take(json, "reasoning_tokens", u.reasoning_tokens);
  return u;
}

Attempt attempt_from(const Json& json) {
  Attempt a;
  a.model = json.at("model");
  a.problem = json.at("problem");
  a.sample = json.at("sample");
  a.round = json.at("round");
  take(json, "for_speed", a.for_speed);
  a.call = call_from(json.at("call"));
  if (const auto verdict = json.find("verdict"); verdict != json.end() && !verdict->is_null())
    a.verdict = verdict_from(*verdict);
  take(json, "cached", a.cached);
  return a;
}

}  // namespace

bool is_label(std::string_view text) {
  constexpr size_t kLongest = 80;
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 && c < 0x80; };
  return !text.empty() && text.size() <= kLongest && is_plain(static_cast<unsigned char>(text.front())) &&
         std::ranges::all_of(text, [&](unsigned char c) {
           return is_plain(c) || std::string_view("._-+").find(static_cast<char>(c)) != std::string_view::npos;
         });
}

std::string_view to_string(AnswerEnd end) {
  return std::ranges::find(kAnswerEnds, end, &std::pair<AnswerEnd, std::string_view>::first)->second;
}

std::optional<AnswerEnd> answer_end_from(std::string_view name) {
  const auto found = std::ranges::find(kAnswerEnds, name, &std::pair<AnswerEnd, std::string_view>::second);
  return found == kAnswerEnds.end() ? std::nullopt : std::optional(found->first);
}

bool Attempt::counts() const {
  if (!verdict) return call.end != AnswerEnd::failed;
  return verdict->verdict != VerdictClass::infra && verdict->verdict != VerdictClass::unsupported;
}

std::string_view outcome(const Attempt& attempt) {
  return attempt.verdict ? to_string(attempt.verdict->verdict) : to_string(attempt.call.end);
}

Json to_value(const Call& c) {
  return {{"end", to_string(c.end)},
          {"stop_reason", c.stop_reason},
          {"error", c.error},
          {"model", c.model},
          {"usage", to_value(c.usage)},
          {"usd", or_null(c.usd)},
          {"seconds", c.seconds},
          {"tries", c.tries},
          {"lost", c.lost}};
}

Call call_from(const Json& json) {
  Call c;
  const std::string end = json.at("end");
  const auto known = answer_end_from(end);
  if (!known) throw std::runtime_error("unknown end of an answer: " + end);
  c.end = *known;
  take(json, "stop_reason", c.stop_reason);
  take(json, "error", c.error);
  take(json, "model", c.model);
  if (const auto usage = json.find("usage"); usage != json.end() && usage->is_object()) c.usage = usage_from(*usage);
  take(json, "usd", c.usd);
  take(json, "seconds", c.seconds);
  take(json, "tries", c.tries);
  take(json, "lost", c.lost);
  return c;
}

Json to_value(const ModelSpec& m) {
  return {{"label", m.label},
          {"provider", m.provider},
          {"model", m.model},
          {"base_url", m.base_url},
          {"effort", m.effort},
          {"temperature", or_null(m.temperature)},
          {"max_output_tokens", or_null(m.max_output_tokens)}};
}

ModelSpec model_spec_from(const Json& json) {
  ModelSpec m;
  m.label = json.at("label");
  if (!is_label(m.label)) throw std::runtime_error("'" + m.label + "' can't be the label of a model");
  take(json, "provider", m.provider);
  take(json, "model", m.model);
  take(json, "base_url", m.base_url);
  take(json, "effort", m.effort);
  take(json, "temperature", m.temperature);
  take(json, "max_output_tokens", m.max_output_tokens);
  return m;
}

std::string to_json(const Attempt& a) {
  return dump({{"model", a.model},
               {"problem", a.problem},
               {"sample", a.sample},
               {"round", a.round},
               {"for_speed", a.for_speed},
               {"outcome", outcome(a)},
               {"call", to_value(a.call)},
               {"verdict", a.verdict ? to_value(*a.verdict) : Json(nullptr)},
               {"cached", a.cached}});
}

Result<Attempt> parse_attempt(std::string_view text) { return parse_object(text, "an attempt", attempt_from); }

std::string to_json(const Call& call) { return dump(to_value(call)); }
Result<Call> parse_call(std::string_view text) { return parse_object(text, "a call", call_from); }

std::string to_json(const ModelSpec& model) { return dump(to_value(model)); }
Result<ModelSpec> parse_model_spec(std::string_view text) { return parse_object(text, "a model", model_spec_from); }

}  // namespace fb::record
