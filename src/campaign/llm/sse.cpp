#include "campaign/llm/sse.h"

#include <utility>

namespace fb::llm {

void SseParser::feed(std::string_view bytes) {
  for (const char c : bytes) {
    // A line ends with \r\n, \n or \r.
    if (c == '\n' && std::exchange(after_return_, false)) continue;
    after_return_ = c == '\r';
    if (c == '\n' || c == '\r') {
      take_line(line_);
      line_.clear();
    } else {
      line_ += c;
    }
  }
}

void SseParser::take_line(std::string_view line) {
  if (line.empty()) {
    if (std::exchange(has_data_, false)) handler_(data_);
    data_.clear();
    return;
  }
  constexpr std::string_view kField = "data:";
  if (!line.starts_with(kField)) return;  // comments are keep-alives; an event's name is also in its data
  line.remove_prefix(kField.size());
  if (line.starts_with(' ')) line.remove_prefix(1);
  if (has_data_) data_ += '\n';
  data_ += line;
  has_data_ = true;
}

}  // namespace fb::llm
