#pragma once

// What a model is asked and what came back: plain structs and their JSON, so that a call can be recorded, looked at and
// read again.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/attempt.h"

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
  std::vector<Message> messages = {};  // the last one is the user's
  std::string idempotency_key = {};    // the same for every try of one call; sent along where there is a header for it
  // Which attempt it is for. Providers on the net are not told; recorded answers are found and commands informed by it.
  std::string problem = {};
  uint32_t sample = 1, round = 1;
  friend bool operator==(const Request&, const Request&) = default;
};

// Neither text nor bodies ever hold a key.
struct Response {
  record::Call call = {};
  std::string text = {};           // the answer
  std::string request_body = {};   // as they went over the wire
  std::string response_body = {};  // of the last try
  std::string request_id = {};     // the provider's own name for the call
  friend bool operator==(const Response&, const Response&) = default;
};

std::string to_json(const Request& request);
Result<Request> parse_request(std::string_view json);
std::string to_json(const Response& response);
Result<Response> parse_response(std::string_view json);

}  // namespace fb::llm
