#include "catalog/skeleton.h"

#include <fmt/format.h>

#include "catalog/names.h"

namespace fb::catalog {

Result<std::vector<std::pair<std::string, std::string>>> make_skeleton(std::string_view category,
                                                                       std::string_view name) {
  for (const std::string_view word : {category, name}) {
    if (!is_snake_case(word)) return error(fmt::format("'{}' is not snake_case", word));
  }
  constexpr std::string_view kPlace = "CATEGORY";
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& [file, content] : skeleton_files()) {
    std::string text(content);
    for (size_t at = text.find(kPlace); at != std::string::npos; at = text.find(kPlace, at + category.size()))
      text.replace(at, kPlace.size(), category);
    files.emplace_back(file, std::move(text));
  }
  return files;
}

}  // namespace fb::catalog
