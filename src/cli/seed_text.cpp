#include "cli/seed_text.h"

#include <charconv>
#include <cstdint>
#include <system_error>

namespace fb::cli {

std::string why_no_seed(const std::string& text) {
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc() && end == text.data() + text.size() ? "" : text + " is no number from 0 to 2^64 - 1";
}

}  // namespace fb::cli
