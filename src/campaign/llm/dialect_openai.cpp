// POST /chat/completions of OpenAI, which most other providers have adopted.

#include <algorithm>
#include <string>

#include "campaign/llm/dialect.h"

namespace fb::llm {
namespace {

// A text, or a list of parts; only parts of type text count (others hold reasoning).
std::string content_text(const Json& message) {
  const auto content = message.find("content");
  if (content == message.end()) return {};
  if (content->is_string()) return content->get<std::string>();
  std::string text;
  if (content->is_array()) {
    for (const Json& part : *content) {
      if (text_of(part, "type") == "text") text += text_of(part, "text");
    }
  }
  return text;
}

record::Usage usage_of(const Json& usage) {
  const Json& input = member(usage, "prompt_tokens_details");
  record::Usage u;
  u.input_tokens = count_of(usage, "prompt_tokens");
  u.output_tokens = count_of(usage, "completion_tokens");
  u.reasoning_tokens = count_of(member(usage, "completion_tokens_details"), "reasoning_tokens");
  u.cache_write_tokens = count_of(input, "cache_write_tokens");
  // One number, three names.
  u.cached_tokens = count_of(input, "cached_tokens");
  if (u.cached_tokens == 0) u.cached_tokens = count_of(usage, "prompt_cache_hit_tokens");
  if (u.cached_tokens == 0) u.cached_tokens = count_of(usage, "cached_tokens");
  // Some providers count reasoning outside of the output; the total shows it.
  if (u.reasoning_tokens > 0 &&
      count_of(usage, "total_tokens") == u.input_tokens + u.output_tokens + u.reasoning_tokens)
    u.output_tokens += u.reasoning_tokens;
  return u;
}

class OpenAiDecoder : public Decoder {
 public:
  explicit OpenAiDecoder(const Provider& provider) : provider_(provider) {}

  void take_event(std::string_view data) override {
    if (data == "[DONE]") {
      answer_.ended = true;
      return;
    }
    take(parse_json(data), "delta");
  }

  void take_whole(std::string_view body) override {
    const Json json = parse_json(body);
    if (take_error(json)) return;
    if (!json.is_object() || !json.contains("choices")) throw std::runtime_error("the answer has no 'choices'");
    take(json, "message");
    answer_.stopped = answer_.ended = true;
  }

 private:
  void take(const Json& json, const char* part) {
    if (take_error(json) || !json.is_object()) return;
    if (const std::string id = text_of(json, "id"); !id.empty()) answer_.id = id;
    if (const std::string model = text_of(json, "model"); !model.empty()) answer_.model = model;
    take_usage(json);
    const auto choices = json.find("choices");
    if (choices == json.end() || !choices->is_array() || choices->empty()) return;
    const Json& choice = choices->front();
    if (take_error(choice)) return;
    take_usage(choice);  // where Moonshot has it
    const Json& message = member(choice, part);
    answer_.text += content_text(message);
    answer_.refusal += text_of(message, "refusal");
    if (const std::string reason = text_of(choice, "finish_reason"); !reason.empty()) {
      answer_.stop_reason = reason;
      answer_.stopped = true;
    }
  }

  void take_usage(const Json& holder) {
    const Json& usage = member(holder, "usage");
    if (usage.empty()) return;
    answer_.usage = usage_of(usage);
    // What is paid is never less than nothing: a budget counts it.
    if (const auto cost = usage.find("cost"); provider_.reports_cost && cost != usage.end() && cost->is_number())
      answer_.usd = std::max(cost->get<double>(), 0.0);
  }

  const Provider& provider_;
};

class OpenAi : public Dialect {
 public:
  WireRequest encode(const Provider& provider, const Request& request, bool stream) const override {
    Json messages = Json::array();
    if (!request.system.empty()) messages.push_back({{"role", "system"}, {"content", request.system}});
    for (const Message& message : request.messages) {
      messages.push_back(
          {{"role", message.role == Role::user ? "user" : "assistant"}, {"content", text_or_note(message.text)}});
    }
    Json body = {{"model", request.model.model}, {"messages", std::move(messages)}};
    if (stream) body["stream"] = true;
    add_settings(body, provider, request, stream);
    return {.path = "/chat/completions", .body = body.dump(-1, ' ', false, Json::error_handler_t::replace)};
  }

  std::unique_ptr<Decoder> decoder(const Provider& provider) const override {
    return std::make_unique<OpenAiDecoder>(provider);
  }
};

}  // namespace

const Dialect& openai_dialect() {
  static const OpenAi kDialect;
  return kDialect;
}

}  // namespace fb::llm
