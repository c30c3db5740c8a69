#include "audit/mutate/equivalents.h"

#include <fmt/format.h>

#include "common/base/toml_reader.h"

namespace fb::mutate {

Result<Equivalents> parse_equivalents(std::string_view toml) {
  Errors errors;
  TomlReader reader(errors);
  Equivalents found;
  if (const auto file = reader.parse(toml)) {
    reader.refuse_unknown(*file, {"mutant"});
    if (file->contains("mutant")) {
      for (const auto* row : reader.tables(*file, "mutant")) {
        reader.refuse_unknown(*row, {"id", "why"});
        const std::string id = reader.text(*row, "id"), why = reader.text(*row, "why");
        if (!found.emplace(id, why).second) reader.complain(*row, fmt::format("{} is there twice", id));
      }
    }
  }
  if (!errors.list.empty()) return std::unexpected(std::move(errors));
  return found;
}

}  // namespace fb::mutate
