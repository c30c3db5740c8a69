#pragma once

// A try without an answer: a message that names the remedy, and whether a retry may help.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "campaign/llm/contact.h"
#include "campaign/llm/key.h"
#include "campaign/llm/transport.h"
#include "common/record/attempt.h"

namespace fb::llm {

struct Failure {
  std::string error;   // one line, without a key
  bool again = false;  // a retry may help
  bool lost = false;   // it may have been answered, and billed
  std::optional<std::chrono::milliseconds> retry_after = {};
};

// A status other than 200.
Failure failure_of_status(const HttpAnswer& http, const Contact& contact, const record::ModelSpec& model,
                          const Redactor& redactor);
// A failure below HTTP.
Failure failure_of_transfer(const HttpAnswer& http, const record::ModelSpec& model);

// The beginning of a text, in one line.
std::string one_line(std::string_view text);

}  // namespace fb::llm
