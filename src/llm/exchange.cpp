#include "llm/exchange.h"

#include <stdexcept>

#include "record/json_fields.h"

namespace fb::llm {
namespace {

using record::dump;
using record::Json;
using record::take;

Role role_from(const std::string& name) {
  if (name == "user") return Role::user;
  if (name == "assistant") return Role::assistant;
  throw std::runtime_error("unknown role '" + name + "'");
}

Request request_from(const Json& json) {
  Request r;
  r.model = record::model_spec_from(json.at("model"));
  take(json, "system", r.system);
  for (const Json& message : json.at("messages"))
    r.messages.push_back({.role = role_from(message.at("role")), .text = message.at("text")});
  take(json, "idempotency_key", r.idempotency_key);
  take(json, "problem", r.problem);
  take(json, "sample", r.sample);
  take(json, "round", r.round);
  return r;
}

Response response_from(const Json& json) {
  Response r;
  r.call = record::call_from(json.at("call"));
  take(json, "text", r.text);
  take(json, "request_body", r.request_body);
  take(json, "response_body", r.response_body);
  take(json, "request_id", r.request_id);
  return r;
}

}  // namespace

std::string to_json(const Request& r) {
  Json messages = Json::array();
  for (const Message& message : r.messages)
    messages.push_back({{"role", message.role == Role::user ? "user" : "assistant"}, {"text", message.text}});
  return dump({{"model", record::to_value(r.model)},
               {"problem", r.problem},
               {"sample", r.sample},
               {"round", r.round},
               {"idempotency_key", r.idempotency_key},
               {"system", r.system},
               {"messages", messages}});
}

Result<Request> parse_request(std::string_view text) { return record::parse_object(text, "a request", request_from); }

std::string to_json(const Response& r) {
  return dump({{"call", record::to_value(r.call)},
               {"request_id", r.request_id},
               {"text", r.text},
               {"request_body", r.request_body},
               {"response_body", r.response_body}});
}

Result<Response> parse_response(std::string_view text) {
  return record::parse_object(text, "a response", response_from);
}

}  // namespace fb::llm
