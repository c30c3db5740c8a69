#include "toolchain/source/user_files.h"

#include <optional>

#include "common/base/strings.h"

namespace fb::toolchain {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 4096;

struct Include {
  std::string_view name;
  bool quoted;
};

std::optional<Include> parse_include(std::string_view line) {
  line = trim(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = trim(line.substr(1));
  if (!line.starts_with("include")) return std::nullopt;
  line = trim(line.substr(sizeof "include" - 1));
  if (line.empty() || (line[0] != '"' && line[0] != '<')) return std::nullopt;
  const size_t end = line.find(line[0] == '"' ? '"' : '>', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return Include{line.substr(1, end - 1), line[0] == '"'};
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// The file that clang would include, named as clang names it; empty if it is not the user's.
fs::path find_include(const Include& include, const fs::path& includer, const std::vector<std::string>& include_dirs) {
  if (include.quoted) {
    const fs::path near = includer.parent_path() / include.name;
    if (is_file(near)) return near.lexically_normal();
  }
  for (const auto& dir : include_dirs) {
    const fs::path path = fs::absolute(dir) / include.name;
    if (is_file(path)) return path.lexically_normal();
  }
  return {};
}

}  // namespace

UserFiles find_user_files(const std::string& source, const std::vector<std::string>& include_dirs) {
  UserFiles found;
  found.files = {fs::absolute(source).lexically_normal()};
  std::set<fs::path> seen(found.files.begin(), found.files.end());
  for (size_t i = 0; i < found.files.size() && i < kMostFiles; ++i) {
    if (!is_file(found.files[i])) continue;
    const std::string text = read_file(found.files[i].string());
    for (const auto line : split(text, '\n')) {
      const auto include = parse_include(line);
      if (!include) continue;
      fs::path path = find_include(*include, found.files[i], include_dirs);
      if (path.empty()) {
        found.other_includes.emplace(include->name);
      } else if (seen.insert(path).second) {
        found.files.push_back(std::move(path));
      }
    }
  }
  return found;
}

}  // namespace fb::toolchain
