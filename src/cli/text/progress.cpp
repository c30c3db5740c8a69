#include "cli/text/progress.h"

#include <fmt/format.h>

namespace fb::cli {

void Progress::show(std::string_view what, size_t done, size_t planned, std::string_view unit) {
  std::string text = command_;
  if (!what.empty()) text += fmt::format(": {}", what);
  if (planned > 0) text += fmt::format(": {} of {}{}{}", done, planned, unit.empty() ? "" : " ", unit);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin_);
  if (seconds.count() > 0) text += fmt::format(" ({} s)", seconds.count());
  line_.show(text);
}

}  // namespace fb::cli
