#include "campaign/prompts/prompt_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "campaign/prompts/prompt.h"
#include "common/base/installed.h"
#include "common/base/strings.h"

namespace fb::prompts {
namespace {

namespace fs = std::filesystem;

Result<fs::path> locate_prompts() {
  return locate({.variable = "FABRICBENCH_PROMPTS",
                 .name = "prompts",
                 .source = FB_SOURCE_PROMPTS,
                 .sign = "system.md",
                 .kind = "folder of prompts",
                 .them = "the prompts"});
}

}  // namespace

Result<std::string> read_prompt_file(std::string_view file) {
  const auto folder = locate_prompts();
  if (!folder) return std::unexpected(folder.error());
  const fs::path path = *folder / file;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return error(fmt::format("{} is missing", path.string()));
  return read_file(path.string());
}

Result<std::string> fill_prompt_file(std::string_view file, const Values& values) {
  const auto text = read_prompt_file(file);
  if (!text) return std::unexpected(text.error());
  auto filled = fill(file, *text, values);
  if (filled) filled->erase(filled->find_last_not_of('\n') + 1);
  return filled;
}

std::vector<std::string> variants() {
  std::vector<std::string> names;
  const auto folder = locate_prompts();
  if (!folder) return names;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(*folder / "variants", failed)) {
    if (entry.path().extension() == ".md") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace fb::prompts
