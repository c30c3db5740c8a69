#pragma once

// A try that brought no answer: what it was, in words that say what to do, and whether to ask again.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "llm/contact.h"
#include "llm/key.h"
#include "llm/transport.h"
#include "record/attempt.h"

namespace fb::llm {

struct Failure {
  std::string error;   // one line, without a key
  bool again = false;  // asking again may help
  bool lost = false;   // it may have been answered, and paid for
  std::optional<std::chrono::milliseconds> retry_after = {};
};

// A status other than 200.
Failure failure_of_status(const HttpAnswer& http, const Contact& contact, const record::ModelSpec& model,
                          const Redactor& redactor);
// Something below HTTP.
Failure failure_of_transfer(const HttpAnswer& http, const record::ModelSpec& model);

// The beginning of a text, as one line.
std::string one_line(std::string_view text);

}  // namespace fb::llm
