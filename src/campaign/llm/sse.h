#pragma once

// Server-sent events: the part of the text/event-stream format that providers use.

#include <functional>
#include <string>
#include <string_view>

namespace fb::llm {

class SseParser {
 public:
  using Handler = std::function<void(std::string_view data)>;
  explicit SseParser(Handler handler) : handler_(std::move(handler)) {}

  // Takes any piece of the stream; calls the handler for each complete event.
  void feed(std::string_view bytes);

 private:
  void take_line(std::string_view line);

  Handler handler_;
  std::string line_, data_;
  bool has_data_ = false, after_return_ = false;
};

}  // namespace fb::llm
