#pragma once

// Request and response of a call: plain structs and their JSON, so that calls can be recorded, inspected and replayed.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/record/attempt.h"

namespace fb::llm {

enum class Role : uint8_t { user, assistant };

struct Message {
  Role role = Role::user;
  std::string text = {};
  friend bool operator==(const Message&, const Message&) = default;
};

struct Request {
  record::ModelSpec model = {};
  std::string system = {};
  std::vector<Message> messages = {};  // the last one has role user
  std::string idempotency_key = {};    // the same for every try of one call
  // The attempt. Not sent to providers; selects recorded answers and is passed to commands.
  std::string problem = {};
  uint32_t sample = 1, round = 1;
  friend bool operator==(const Request&, const Request&) = default;
};

// Keys are redacted from text and bodies.
struct Response {
  record::Call call = {};
  std::string text = {};           // the answer
  std::string request_body = {};   // as sent
  std::string response_body = {};  // of the last try
  std::string request_id = {};     // the provider's id of the call
  friend bool operator==(const Response&, const Response&) = default;
};

std::string to_json(const Request& request);
Result<Request> parse_request(std::string_view json);
std::string to_json(const Response& response);
Result<Response> parse_response(std::string_view json);

}  // namespace fb::llm
