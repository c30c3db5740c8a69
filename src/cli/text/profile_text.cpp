#include "cli/text/profile_text.h"

#include <filesystem>
#include <fstream>

#include "common/base/strings.h"

namespace fb::cli {
namespace {

std::string line_of(const std::string& file, uint32_t line) {
  std::ifstream in(file);
  std::string text;
  for (uint32_t k = 0; k < line; ++k) {
    if (!std::getline(in, text)) return {};
  }
  return std::string(trim(text));
}

}  // namespace

std::string profile_text(const record::Profile& profile, const std::string& answer) {
  constexpr size_t kLines = 8;  // of a kernel
  if (profile.empty()) return "fabricbench: no kernel ran: there is nothing to profile\n";
  return to_text(profile, kLines, [&](const std::string& file, uint32_t line) {
    namespace fs = std::filesystem;
    if (fs::exists(file)) return line_of(file, line);
    return fs::path(file).filename() == fs::path(answer).filename() ? line_of(answer, line) : std::string();
  });
}

}  // namespace fb::cli
