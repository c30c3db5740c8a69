#pragma once

// Terminals, and texts in their columns.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace fb {

// The width of the terminal behind a descriptor: as the terminal says, else $COLUMNS, else 80. None: it is no terminal.
std::optional<size_t> terminal_columns(int descriptor);

// How many columns a text of one line takes: wide characters two, combining ones none; a byte that is not UTF-8 one.
size_t columns_of(std::string_view text);

// The text, or as much of it as fits with "…" behind it.
std::string cut_to_columns(std::string_view text, size_t columns);

// The text with spaces behind it, up to `columns`.
std::string pad_to_columns(std::string_view text, size_t columns);

}  // namespace fb
