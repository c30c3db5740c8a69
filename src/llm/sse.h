#pragma once

// Server-sent events: the text/event-stream of the HTML standard, as far as models use it.

#include <functional>
#include <string>
#include <string_view>

namespace fb::llm {

class SseParser {
 public:
  using Handler = std::function<void(std::string_view data)>;
  explicit SseParser(Handler handler) : handler_(std::move(handler)) {}

  // Any piece of the stream; calls the handler for each event that is complete.
  void feed(std::string_view bytes);

 private:
  void take_line(std::string_view line);

  Handler handler_;
  std::string line_, data_;
  bool has_data_ = false, after_return_ = false;
};

}  // namespace fb::llm
