// POST /models/NAME:generateContent of Google's Gemini.

#include <fmt/format.h>

#include <cctype>
#include <stdexcept>
#include <string>

#include "campaign/llm/dialect.h"

namespace fb::llm {
namespace {

// Percent-encodes a name for a path.
std::string escaped(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '.' || c == '_' || c == '-') {
      out += c;
    } else {
      out += fmt::format("%{:02X}", byte);
    }
  }
  return out;
}

Json parts(const std::string& text) { return Json::array({Json{{"text", text}}}); }

class GeminiDecoder : public Decoder {
 public:
  void take_event(std::string_view data) override { take(parse_json(data)); }

  void take_whole(std::string_view body) override {
    const Json json = parse_json(body);
    take(json);
    if (!answer_.error.empty()) return;
    if (!answer_.stopped && !json.contains("candidates")) throw std::runtime_error("the answer has no 'candidates'");
    answer_.stopped = answer_.ended = true;
  }

 private:
  void take(const Json& json) {
    if (take_error(json)) return;
    if (!json.is_object()) throw std::runtime_error("the answer is not an object");
    if (const std::string id = text_of(json, "responseId"); !id.empty()) answer_.id = id;
    if (const std::string model = text_of(json, "modelVersion"); !model.empty()) answer_.model = model;
    take_usage(json);
    // A prompt that was blocked by a filter has no candidates.
    take_stop(text_of(member(json, "promptFeedback"), "blockReason"));
    const auto candidates = json.find("candidates");
    if (candidates == json.end() || !candidates->is_array() || candidates->empty()) return;
    const Json& candidate = candidates->front();
    take_stop(text_of(candidate, "finishReason"));
    const Json& content = member(candidate, "content");
    if (!content.contains("parts")) return;
    for (const Json& part : content["parts"]) {
      const auto thought = part.find("thought");
      if (thought == part.end() || *thought != true) answer_.text += text_of(part, "text");
    }
  }

  void take_stop(const std::string& reason) {
    if (reason.empty()) return;
    answer_.stop_reason = reason;
    answer_.stopped = true;
  }

  // Every event has cumulative counts. Reasoning tokens are not included in candidatesTokenCount.
  void take_usage(const Json& json) {
    const Json& usage = member(json, "usageMetadata");
    if (usage.empty()) return;
    const uint64_t thoughts = count_of(usage, "thoughtsTokenCount");
    answer_.usage = record::Usage{.input_tokens = count_of(usage, "promptTokenCount"),
                                  .cached_tokens = count_of(usage, "cachedContentTokenCount"),
                                  .output_tokens = count_of(usage, "candidatesTokenCount") + thoughts,
                                  .reasoning_tokens = thoughts};
  }
};

class Gemini : public Dialect {
 public:
  WireRequest encode(const Provider& provider, const Request& request, bool stream) const override {
    Json contents = Json::array();
    for (const Message& message : request.messages) {
      contents.push_back(
          {{"role", message.role == Role::user ? "user" : "model"}, {"parts", parts(text_or_note(message.text))}});
    }
    Json body = Json::object();
    if (!request.system.empty()) body["systemInstruction"] = {{"parts", parts(request.system)}};
    body["contents"] = std::move(contents);
    add_settings(body, provider, request, stream);
    return {.path = fmt::format("/models/{}:{}", escaped(request.model.model),
                                stream ? "streamGenerateContent?alt=sse" : "generateContent"),
            .body = body.dump(-1, ' ', false, Json::error_handler_t::replace)};
  }

  std::unique_ptr<Decoder> decoder(const Provider&) const override { return std::make_unique<GeminiDecoder>(); }
};

}  // namespace

const Dialect& gemini_dialect() {
  static const Gemini kDialect;
  return kDialect;
}

}  // namespace fb::llm
