#include "campaign/llm/exchange.h"

#include "common/record/attempt_fields.h"

namespace fb::llm {

inline std::string_view to_string(Role role) { return role == Role::user ? "user" : "assistant"; }
inline bool read_name(std::string_view name, Role& role) {
  role = name == "user" ? Role::user : Role::assistant;
  return name == to_string(role);
}

template <FieldsOf<Message> T, class F>
void visit_fields(T& m, F&& field) {
  field("role", m.role, kRequired);
  field("text", m.text, kRequired);
}

template <FieldsOf<Request> T, class F>
void visit_fields(T& r, F&& field) {
  field("model", r.model, kRequired);
  field("problem", r.problem);
  field("sample", r.sample);
  field("round", r.round);
  field("idempotency_key", r.idempotency_key);
  field("system", r.system);
  field("messages", r.messages, kRequired);
}

template <FieldsOf<Response> T, class F>
void visit_fields(T& r, F&& field) {
  field("call", r.call, kRequired);
  field("request_id", r.request_id);
  field("text", r.text);
  field("request_body", r.request_body);
  field("response_body", r.response_body);
}

std::string to_json(const Request& request) { return dump(to_json_value(request)); }
Result<Request> parse_request(std::string_view text) { return parse_fields<Request>(text, "a request"); }

std::string to_json(const Response& response) { return dump(to_json_value(response)); }
Result<Response> parse_response(std::string_view text) { return parse_fields<Response>(text, "a response"); }

}  // namespace fb::llm
