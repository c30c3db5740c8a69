#pragma once

// When to retry, and after how long.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/rng.h"

namespace fb::llm {

// Whether a retry may get another status.
bool is_passing(int http_status);

// Retry-After: seconds, or a date, which is compared with `now` (by the server's clock if it sent one).
std::optional<std::chrono::milliseconds> parse_retry_after(std::string_view value,
                                                           std::chrono::system_clock::time_point now);
std::optional<std::chrono::system_clock::time_point> parse_http_date(std::string_view text);

// Waits between tries: doubling from `first` up to `longest`, each with jitter, so that many callers do not come back
// at the same moment. Equal seeds give equal waits.
class Backoff {
 public:
  Backoff(std::chrono::milliseconds first, std::chrono::milliseconds longest, uint64_t seed)
      : next_(first), longest_(longest), rng_(seed) {}

  // Never shorter than the time that the server asks for.
  std::chrono::milliseconds wait(std::optional<std::chrono::milliseconds> retry_after);

 private:
  std::chrono::milliseconds next_, longest_;
  Rng rng_;
};

}  // namespace fb::llm
