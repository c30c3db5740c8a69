#pragma once

// The limits of a call: time, tries, bytes.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace fb::llm {

struct AskOptions {
  bool stream = true;  // false: whole answers, in which a stall can't be told from long reasoning
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(20);
  std::optional<std::chrono::milliseconds> stall_timeout = {};      // without a byte; none: as in the provider's row
  std::chrono::milliseconds try_timeout = std::chrono::hours(1);    // of one try, and of a command
  std::chrono::milliseconds total_timeout = std::chrono::hours(3);  // of all tries and the waits between them
  uint32_t max_tries = 6;
  std::chrono::milliseconds first_wait = std::chrono::seconds(2);    // doubled after every try
  std::chrono::milliseconds longest_wait = std::chrono::minutes(2);  // unless the provider names a time
  size_t most_bytes = size_t{64} << 20;                              // of an answer
  std::string prices = {};                                           // a file instead of the installed one
  std::function<void(std::chrono::milliseconds)> sleep = {};         // called instead of sleeping between tries
  std::function<bool()> cancelled = {};  // polled several times a second; a cancelled call has failed
};

}  // namespace fb::llm
