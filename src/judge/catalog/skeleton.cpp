#include "judge/catalog/skeleton.h"

#include <fmt/format.h>

#include "judge/catalog/names.h"

namespace fb::catalog {

Result<std::vector<std::pair<std::string, std::string>>> make_skeleton(std::string_view track,
                                                                       std::string_view category,
                                                                       std::string_view name) {
  for (const std::string_view word : {track, category, name}) {
    if (!is_snake_case(word)) return error(fmt::format("'{}' is not snake_case", word));
  }
  const auto put = [](std::string& text, std::string_view place, std::string_view value) {
    for (size_t at = text.find(place); at != std::string::npos; at = text.find(place, at + value.size()))
      text.replace(at, place.size(), value);
  };
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& [file, content] : skeleton_files()) {
    std::string text(content);
    // What only this track must say, behind the category.
    if (track == "kernel" && file == "problem.toml")
      put(text, "\nlibrary = ", "\nparallelism = [\"collective\"]  # TODO\nlibrary = ");
    put(text, "TRACK", track);
    put(text, "CATEGORY", category);
    // A plain solution that speeds are relative to; here the other one that there is.
    if (track == "kernel" && file == "alternative.cu") files.emplace_back("baseline.cu", text);
    files.emplace_back(file, std::move(text));
  }
  return files;
}

}  // namespace fb::catalog
