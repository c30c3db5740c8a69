#include "campaign/llm/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "campaign/llm/dialect.h"
#include "campaign/llm/retry.h"
#include "common/base/strings.h"

namespace fb::llm {
namespace {

using End = HttpAnswer::End;

// The message in the body of an error, or the body.
std::string complaint_in(const std::string& body) {
  Json json;
  try {
    json = parse_json(body);
  } catch (const std::exception&) {
    return body;
  }
  const Json& holder = json.is_array() && !json.empty() ? json.front() : json;  // Gemini may send a list of one
  if (holder.is_object()) {
    const Json inner = holder.value("error", Json());
    for (const std::string& text :
         {text_of(inner, "message"), inner.is_string() ? inner.get<std::string>() : std::string(),
          text_of(holder, "message"), text_of(holder, "detail")}) {
      if (!text.empty()) return text;
    }
  }
  return body;
}

// The quota is exhausted: waiting does not help.
bool is_out_of_credit(const std::string& body) { return body.contains("insufficient_quota"); }

std::string advice(int status, const Contact& contact, const record::ModelSpec& model, const std::string& said) {
  const std::string names = contact.key_names();
  const std::string& name = model.provider;
  switch (status) {
    // Messages about a wrong key tend to quote it.
    case 401:
      return fmt::format("{} refuses the key (401): set {} to a valid one", name, names);
    case 402:
      return fmt::format("{} requires payment (402): {}", name, said);
    case 403:
      return fmt::format("{} does not allow this (403): {}; check the permissions of the key in {}", name, said, names);
    case 404:
      return fmt::format("{} has no '{}' at this address (404): {}; check the name and the url", name, model.model,
                         said);
    case 413:
      return fmt::format("the prompt is too long for {} (413): {}", name, said);
    case 400:
    case 422:
      return fmt::format("{} does not accept the request ({}): {}; check effort, temperature and max_tokens", name,
                         status, said);
    default:
      if (status >= 300 && status < 400)
        return fmt::format("{} redirects ({}), and keys are not sent to another address: set url=… to the right one",
                           name, status);
      return fmt::format("{} answers with status {}: {}", name, status, said);
  }
}

}  // namespace

std::string one_line(std::string_view text) {
  constexpr size_t kMost = 300;
  std::string line(trim(text).substr(0, kMost));
  std::ranges::replace_if(line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return line;
}

Failure failure_of_status(const HttpAnswer& http, const Contact& contact, const record::ModelSpec& model,
                          const Redactor& redactor) {
  const std::string said = one_line(redactor.complaint(complaint_in(http.body)));
  Failure failure{.error = advice(http.status, contact, model, said.empty() ? "no message" : said)};
  failure.again = is_passing(http.status) && !is_out_of_credit(http.body);
  const auto now = parse_http_date(http.header("date")).value_or(std::chrono::system_clock::now());
  failure.retry_after = parse_retry_after(http.header("retry-after"), now);
  return failure;
}

Failure failure_of_transfer(const HttpAnswer& http, const record::ModelSpec& model) {
  Failure failure{.error = fmt::format("{}: {}", model.provider, http.problem)};
  failure.again = http.end != End::cancelled && http.end != End::hopeless && http.end != End::too_big;
  failure.lost = http.end != End::not_sent && http.end != End::hopeless;
  return failure;
}

}  // namespace fb::llm
