#include "judge/catalog/family.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "common/base/strings.h"
#include "judge/catalog/markers.h"

namespace fb::catalog {
namespace {

namespace fs = std::filesystem;

// NAME.h in `#include "../NAME.h"`; empty for every other line.
std::string_view header_in(std::string_view line) {
  constexpr std::string_view kBefore = "#include \"../", kAfter = ".h\"";
  line = trim(line);
  if (!line.starts_with(kBefore) || !line.ends_with(kAfter)) return {};
  const std::string_view name = line.substr(kBefore.size(), line.size() - kBefore.size() - 1);
  return name.contains('/') ? std::string_view{} : name;
}

// The text of a header that is a part of a source.
std::string without_guard(std::string_view header) {
  std::string text;
  for (const auto line : lines_of(header)) {
    if (trim(line) != "#pragma once") text += fmt::format("{}\n", line);
  }
  return text;
}

}  // namespace

Result<std::string> with_family_headers(std::string_view source, const std::string& family, FamilyHeaders& headers) {
  std::string text;
  for (const auto line : lines_of(source)) {
    const std::string name(header_in(line));
    if (name.empty()) {
      text += fmt::format("{}\n", line);
      continue;
    }
    const fs::path file = fs::path(family) / name;
    std::error_code failed;
    if (!fs::is_regular_file(file, failed)) return error(fmt::format("includes ../{}, which is missing", name));
    text += without_guard(headers[name] = read_file(file.string()));
  }
  return text;
}

Result<std::string> with_headers_of(const Problem& problem, const std::string& file, std::string text) {
  std::error_code failed;
  if (!fs::equivalent(fs::absolute(file).parent_path(), problem.folder, failed)) return text;
  FamilyHeaders headers;
  const fs::path folder = problem.base.empty() ? problem.folder : problem.base;
  return with_family_headers(text, folder.parent_path().string(), headers);
}

}  // namespace fb::catalog
