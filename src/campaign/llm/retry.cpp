#include "campaign/llm/retry.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "common/base/numbers.h"
#include "common/base/strings.h"

namespace fb::llm {

using std::chrono::milliseconds;

bool is_passing(int http_status) {
  constexpr std::array kPassing = {408, 409, 425, 429};
  return http_status >= 500 || std::ranges::find(kPassing, http_status) != kPassing.end();
}

std::optional<std::chrono::system_clock::time_point> parse_http_date(std::string_view text) {
  // The year 2200: a time_point counts nanoseconds, and ends in 2262.
  constexpr time_t kLatest = 7'258'118'400;
  const time_t seconds = curl_getdate(std::string(text).c_str(), nullptr);
  if (seconds < 0 || seconds > kLatest) return {};
  return std::chrono::system_clock::from_time_t(seconds);
}

std::optional<milliseconds> parse_retry_after(std::string_view value, std::chrono::system_clock::time_point now) {
  value = trim(value);
  if (value.empty()) return {};
  constexpr milliseconds kMost = std::chrono::seconds(10'000'000);
  if (const auto seconds = as_number<double>(value)) {
    if (!(*seconds >= 0)) return {};
    return milliseconds(std::llround(std::min(*seconds * 1000, static_cast<double>(kMost.count()))));
  }
  const auto date = parse_http_date(value);
  if (!date) return {};
  return std::clamp(std::chrono::ceil<milliseconds>(*date - now), milliseconds(0), kMost);
}

milliseconds Backoff::wait(std::optional<milliseconds> retry_after) {
  const milliseconds base = std::min(next_, longest_);
  next_ = std::min(next_ * 2, longest_);
  // Jitter: from half of the wait to all of it.
  const auto half = static_cast<uint64_t>(base.count() / 2);
  const milliseconds own = milliseconds(base.count() - static_cast<int64_t>(rng_.below(half + 1)));
  if (!retry_after) return own;
  return std::max(own, *retry_after + milliseconds(rng_.below(static_cast<uint64_t>(retry_after->count() / 10 + 1))));
}

}  // namespace fb::llm
