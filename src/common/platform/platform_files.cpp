#include "common/platform/platform_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "common/base/installed.h"
#include "common/base/strings.h"
#include "common/platform/platform.h"

namespace fb::platform {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders() {
  if (const std::string chosen = environment("FABRICBENCH_PLATFORMS"); !chosen.empty()) return {chosen};
  return {beside_program("../share/fabricbench/platforms"), FB_SOURCE_PLATFORMS};
}

}  // namespace

Result<std::string> find_platform_file(std::string_view name_or_file) {
  std::string name(name_or_file);
  std::error_code ignored;
  if (name.ends_with(".toml") || name.contains('/')) {
    if (fs::is_regular_file(name, ignored)) return name;
    return error(fmt::format("no such platform file: {}", name));
  }
  for (const fs::path& folder : folders()) {
    const fs::path file = folder / (name + ".toml");
    if (fs::is_regular_file(file, ignored)) return file.string();
  }
  return error(fmt::format("no platform is called '{}'; known: {}", name, fmt::join(platform_names(), " ")));
}

std::vector<std::string> platform_names() {
  for (const fs::path& folder : folders()) {
    std::vector<std::string> names;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(folder, failed)) {
      if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
    }
    if (names.empty()) continue;
    std::ranges::sort(names);
    return names;
  }
  return {};
}

Result<Platform> load_platform(std::string_view name_or_file, int depth) {
  auto file = find_platform_file(name_or_file);
  if (!file) return std::unexpected(file.error());
  auto platform = parse_platform(read_file(*file), depth);
  if (platform) return platform;
  // The caller passed a name; messages need the file.
  Errors located;
  for (const Diagnostic& d : platform.error().list)
    located.list.push_back({{}, std::string(trim(to_string(Errors(d.message, d.at), *file)))});
  return std::unexpected(std::move(located));
}

}  // namespace fb::platform
