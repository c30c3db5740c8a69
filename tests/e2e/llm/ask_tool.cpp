// Asks what standard input says, a JSON object a line, and writes what came back, a line each: how the test of all
// providers and scenarios (scenarios.py) reaches the library.

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "campaign/llm/ask.h"

namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;

fb::llm::AskOptions options_of(const Json& asked, Json& waits) {
  fb::llm::AskOptions options;
  options.stream = asked.value("stream", true);
  options.try_timeout = milliseconds(asked.value("try_ms", 60000));
  options.total_timeout = milliseconds(asked.value("total_ms", 600000));
  options.stall_timeout = milliseconds(asked.value("stall_ms", 30000));
  options.connect_timeout = milliseconds(10000);
  options.max_tries = asked.value("max_tries", 6u);
  options.most_bytes = asked.value("most_bytes", size_t{1} << 20);
  options.prices = asked.value("prices", "");
  options.sleep = [&waits](milliseconds wait) { waits.push_back(wait.count()); };
  return options;
}

Json answer_to(const Json& asked) {
  const auto model = fb::llm::parse_model(asked.at("model").get<std::string>());
  if (!model) return {{"error", model.error().list.front().message}};
  if (const auto ready = fb::llm::check_ready(*model); !ready) return {{"error", ready.error().list.front().message}};
  fb::llm::Request request{.model = *model, .system = asked.value("system", "")};
  for (const Json& turn : asked.at("turns")) {
    const auto role = request.messages.size() % 2 == 0 ? fb::llm::Role::user : fb::llm::Role::assistant;
    request.messages.push_back({.role = role, .text = turn});
  }
  request.idempotency_key = asked.value("idempotency_key", "");
  request.problem = asked.value("problem", "");
  Json waits = Json::array();
  const fb::llm::Response response = fb::llm::ask(request, options_of(asked, waits));
  const std::string text = to_json(response);
  const auto again = fb::llm::parse_response(text);
  return {{"response", Json::parse(text)}, {"waits", waits}, {"replays", again && *again == response}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer_to(Json::parse(line)).dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}
