#pragma once

// Spelling rules of names.

#include <string>
#include <string_view>

namespace fb::catalog {

// A lower-case letter, then lower-case letters, digits and single underscores between them.
bool is_snake_case(std::string_view name);
// Lower-case letters and digits in groups joined by '-' or '_': a tag, a library.
bool is_label(std::string_view name);

// Why this can't be the name of a field of Args that expressions use; empty if it can.
std::string why_no_field(std::string_view name);

}  // namespace fb::catalog
