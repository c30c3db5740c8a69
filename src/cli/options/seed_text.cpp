#include "cli/options/seed_text.h"

#include <cstdint>

#include "common/base/numbers.h"

namespace fb::cli {

std::string why_no_seed(const std::string& text) {
  return as_number<uint64_t>(text) ? "" : text + " is no number from 0 to 2^64 - 1";
}

}  // namespace fb::cli
