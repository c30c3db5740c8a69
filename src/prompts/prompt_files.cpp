#include "prompts/prompt_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/strings.h"
#include "prompts/prompt.h"

namespace fb::prompts {
namespace {

namespace fs = std::filesystem;

bool is_folder_of_prompts(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "system.md", ignored);
}

Result<fs::path> locate() {
  if (const char* chosen = std::getenv("FABRICBENCH_PROMPTS"); chosen != nullptr && *chosen != '\0') {
    if (is_folder_of_prompts(chosen)) return fs::path(chosen);
    return error(fmt::format("FABRICBENCH_PROMPTS names no folder of prompts: {}/system.md is missing", chosen));
  }
  std::error_code ignored;
  const fs::path installed =
      (fs::read_symlink("/proc/self/exe", ignored).parent_path() / "../share/fabricbench/prompts").lexically_normal();
  for (const fs::path& folder : {installed, fs::path(FB_SOURCE_PROMPTS)}) {
    if (is_folder_of_prompts(folder)) return folder;
  }
  return error(fmt::format("the prompts were found neither in {} nor in {}: set FABRICBENCH_PROMPTS",
                           installed.string(), FB_SOURCE_PROMPTS));
}

}  // namespace

Result<std::string> read_prompt_file(std::string_view file) {
  const auto folder = locate();
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
  const auto folder = locate();
  if (!folder) return names;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(*folder / "variants", failed)) {
    if (entry.path().extension() == ".md") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace fb::prompts
