// POST /messages of Anthropic.

#include <algorithm>
#include <stdexcept>
#include <string>

#include "campaign/llm/dialect.h"

namespace fb::llm {
namespace {

// A block of text; if marked, the prompt is cached up to here.
Json text_block(const std::string& text, bool marked) {
  Json block = {{"type", "text"}, {"text", text}};
  if (marked) block["cache_control"] = {{"type", "ephemeral"}};
  return block;
}

class AnthropicDecoder : public Decoder {
 public:
  void take_event(std::string_view data) override {
    const Json event = parse_json(data);
    const std::string type = text_of(event, "type");
    if (type == "error") {
      if (!take_error(event)) answer_.error = "an error without a message";
    } else if (type == "message_start") {
      take_message(member(event, "message"));
    } else if (type == "content_block_start") {
      const Json& block = member(event, "content_block");
      if (text_of(block, "type") == "text") answer_.text += text_of(block, "text");
    } else if (type == "content_block_delta") {
      const Json& delta = member(event, "delta");
      if (text_of(delta, "type") == "text_delta") answer_.text += text_of(delta, "text");
    } else if (type == "message_delta") {
      take_stop(member(event, "delta"));
      take_usage(member(event, "usage"));
    } else if (type == "message_stop") {
      answer_.ended = true;
    }
  }

  void take_whole(std::string_view body) override {
    const Json json = parse_json(body);
    if (take_error(json)) return;
    if (!json.is_object() || !json.contains("content")) throw std::runtime_error("the answer has no 'content'");
    take_message(json);
    for (const Json& block : json["content"]) {
      if (text_of(block, "type") == "text") answer_.text += text_of(block, "text");
    }
    take_stop(json);
    answer_.stopped = answer_.ended = true;
  }

 private:
  void take_message(const Json& message) {
    answer_.id = text_of(message, "id");
    answer_.model = text_of(message, "model");
    take_usage(member(message, "usage"));
  }

  void take_stop(const Json& holder) {
    const std::string reason = text_of(holder, "stop_reason");
    if (reason.empty()) return;
    answer_.stop_reason = reason;
    answer_.stopped = true;
  }

  // Counts are cumulative; an event has some of them. input_tokens excludes tokens read from or written to caches.
  void take_usage(const Json& usage) {
    if (usage.empty()) return;
    const auto note = [&](const char* name, uint64_t& count) {
      if (usage.contains(name) && usage[name].is_number()) count = count_of(usage, name);
    };
    note("input_tokens", fresh_);
    note("cache_read_input_tokens", cached_);
    note("cache_creation_input_tokens", written_);
    note("output_tokens", output_);
    reasoning_ = std::max(reasoning_, count_of(member(usage, "output_tokens_details"), "thinking_tokens"));
    answer_.usage = record::Usage{.input_tokens = fresh_ + cached_ + written_,
                                  .cached_tokens = cached_,
                                  .cache_write_tokens = written_,
                                  .output_tokens = output_,
                                  .reasoning_tokens = reasoning_};
  }

  uint64_t fresh_ = 0, cached_ = 0, written_ = 0, output_ = 0, reasoning_ = 0;
};

class Anthropic : public Dialect {
 public:
  WireRequest encode(const Provider& provider, const Request& request, bool stream) const override {
    // Mark the prefix shared with other samples (system, the problem), and the prefix of the next round.
    Json messages = Json::array();
    for (size_t i = 0; i < request.messages.size(); ++i) {
      const Message& message = request.messages[i];
      const bool marked =
          provider.cache_marks && message.role == Role::user && (i == 0 || i + 1 == request.messages.size());
      messages.push_back({{"role", message.role == Role::user ? "user" : "assistant"},
                          {"content", Json::array({text_block(text_or_note(message.text), marked)})}});
    }
    Json body = {{"model", request.model.model}};
    if (!request.system.empty()) body["system"] = Json::array({text_block(request.system, provider.cache_marks)});
    body["messages"] = std::move(messages);
    if (stream) body["stream"] = true;
    add_settings(body, provider, request, stream);
    return {.path = "/messages", .body = body.dump(-1, ' ', false, Json::error_handler_t::replace)};
  }

  std::unique_ptr<Decoder> decoder(const Provider&) const override { return std::make_unique<AnthropicDecoder>(); }
};

}  // namespace

const Dialect& anthropic_dialect() {
  static const Anthropic kDialect;
  return kDialect;
}

}  // namespace fb::llm
