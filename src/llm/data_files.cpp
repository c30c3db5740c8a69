#include "llm/data_files.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

namespace fb::llm {

namespace fs = std::filesystem;

Result<std::string> find_data_file(std::string_view name) {
  std::error_code ignored;
  if (const char* chosen = std::getenv("FABRICBENCH_DATA"); chosen != nullptr && *chosen != '\0') {
    const fs::path file = fs::path(chosen) / name;
    if (fs::is_regular_file(file, ignored)) return file.string();
    return error(fmt::format("FABRICBENCH_DATA names a folder without {}: {}", name, chosen));
  }
  const fs::path installed =
      (fs::read_symlink("/proc/self/exe", ignored).parent_path() / "../share/fabricbench/data").lexically_normal();
  for (const fs::path& folder : {installed, fs::path(FB_SOURCE_DATA)}) {
    if (fs::is_regular_file(folder / name, ignored)) return (folder / name).string();
  }
  return error(fmt::format("{} was found neither in {} nor in {}: set FABRICBENCH_DATA", name, installed.string(),
                           FB_SOURCE_DATA));
}

}  // namespace fb::llm
