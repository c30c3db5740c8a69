#include "campaign/llm/dialect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "common/base/check.h"
#include "common/base/numbers.h"
#include "common/base/strings.h"

namespace fb::llm {
namespace {

// Puts a value at "a.b.c".
void set_at(Json& body, std::string_view path, Json value) {
  Json* place = &body;
  for (const std::string_view name : split(path, '.')) place = &(*place)[std::string(name)];
  *place = std::move(value);
}

// A copy with every text `variable` replaced.
Json substituted(const Json& fragment, std::string_view variable, const Json& value) {
  if (fragment.is_string() && fragment.get_ref<const std::string&>() == variable) return value;
  Json copy = fragment;
  if (copy.is_structured()) {
    for (Json& element : copy) element = substituted(element, variable, value);
  }
  return copy;
}

bool is_final(const std::string& type, const Json& code) {
  constexpr std::array kFinalTypes = {
      "invalid_request_error", "authentication_error", "permission_error",  "not_found_error", "billing_error",
      "insufficient_quota",    "INVALID_ARGUMENT",     "PERMISSION_DENIED", "UNAUTHENTICATED", "NOT_FOUND",
      "FAILED_PRECONDITION"};
  constexpr std::array kFinalCodes = {400, 401, 402, 403, 404, 413, 422};
  if (std::ranges::find(kFinalTypes, type) != kFinalTypes.end()) return true;
  return code.is_number_integer() && std::ranges::find(kFinalCodes, code.get<int>()) != kFinalCodes.end();
}

}  // namespace

bool Decoder::take_error(const Json& json) {
  if (!json.is_object()) return false;
  const auto found = json.find("error");
  if (found == json.end() || found->is_null()) return false;
  if (found->is_object()) {
    std::string type = text_of(*found, "type");
    if (type.empty()) type = text_of(*found, "status");
    answer_.error = text_of(*found, "message");
    if (answer_.error.empty()) answer_.error = found->dump(-1, ' ', false, Json::error_handler_t::replace);
    answer_.error_is_final = is_final(type, found->value("code", Json()));
  } else {
    answer_.error =
        found->is_string() ? found->get<std::string>() : found->dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  if (answer_.error.empty()) answer_.error = "an error without a message";
  return true;
}

const Dialect& dialect(DialectName name) {
  switch (name) {
    case DialectName::openai:
      return openai_dialect();
    case DialectName::anthropic:
      return anthropic_dialect();
    case DialectName::gemini:
      return gemini_dialect();
  }
  FB_CHECK(false);
}

Result<Json> effort_fragment(const Provider& provider, std::string_view effort) {
  if (effort.empty()) return Json::object();
  if (const auto exact = provider.effort.find(std::string(effort)); exact != provider.effort.end())
    return exact->second;
  if (const auto tokens = as_number<uint32_t>(effort)) {
    const auto budget = provider.effort.find("budget");
    if (budget != provider.effort.end()) return substituted(budget->second, "$budget", *tokens);
    return error(fmt::format("{} takes no number of tokens as effort", provider.name));
  }
  if (const auto any = provider.effort.find("any"); any != provider.effort.end())
    return substituted(any->second, "$effort", effort);
  std::vector<std::string> known;
  for (const auto& [word, fragment] : provider.effort) known.push_back(word == "budget" ? "a number of tokens" : word);
  return error(fmt::format("{} has no effort '{}'; known: {}", provider.name, effort, fmt::join(known, ", ")));
}

Json parse_json(std::string_view text) {
  constexpr int kDeepest = 100;
  return Json::parse(text, [](int depth, Json::parse_event_t, const Json&) {
    if (depth > kDeepest) throw std::runtime_error("the JSON is nested too deeply");
    return true;
  });
}

std::string without_thoughts(const std::string& text) {
  constexpr std::string_view kBegin = "<think>", kEnd = "</think>";
  if (!trim(text).starts_with(kBegin)) return text;
  const size_t end = text.find(kEnd);
  if (end == std::string::npos) return "";
  const size_t begin = text.find_first_not_of(" \t\r\n", end + kEnd.size());
  return begin == std::string::npos ? "" : text.substr(begin);
}

uint32_t output_limit(const Provider& provider, const record::ModelSpec& model) {
  return model.max_output_tokens.value_or(provider.max_output_tokens);
}

void add_settings(Json& body, const Provider& provider, const Request& request, bool stream) {
  set_at(body, provider.token_limit, output_limit(provider, request.model));
  if (request.model.temperature) set_at(body, provider.temperature, *request.model.temperature);
  if (const auto fragment = effort_fragment(provider, request.model.effort)) body.update(*fragment, true);
  body.update(provider.extra, true);
  if (stream) body.update(provider.stream_extra, true);
}

std::string text_or_note(const std::string& text) { return trim(text).empty() ? "(empty)" : text; }

const Json& member(const Json& object, const char* name) {
  static const Json kNothing = Json::object();
  if (!object.is_object()) return kNothing;
  const auto found = object.find(name);
  return found != object.end() && found->is_object() ? *found : kNothing;
}

uint64_t count_of(const Json& object, const char* name) {
  if (!object.is_object()) return 0;
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return 0;
  const double value = found->get<double>();
  return value > 0 && value < 1e15 ? static_cast<uint64_t>(value) : 0;
}

std::string text_of(const Json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace fb::llm
