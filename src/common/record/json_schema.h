#pragma once

// What the JSON of all records has in common (common/base/json.h): the version of their form, and how names are read.

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "common/base/json.h"

namespace fb::record {

// The version of the records' form, the field `schema` of every record. It is raised when a field changes its meaning;
// new fields do not raise it. Records without it are of versions before 1.
inline constexpr int kSchema = 1;

template <class T, class F>
void schema_field(F&& field) {
  int schema = std::is_const_v<T> ? kSchema : 0;
  field("schema", schema);
  if (schema > kSchema)
    throw std::runtime_error("schema " + std::to_string(schema) +
                             " is of a later version of fabricbench (this one reads up to " + std::to_string(kSchema) +
                             ")");
}

template <class Enum>
bool assign(std::optional<Enum> from, Enum& value) {
  if (from) value = *from;
  return from.has_value();
}

}  // namespace fb::record
