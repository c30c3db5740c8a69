#pragma once

// Tables for people: the same rows as text in columns and as Markdown.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fb::report {

struct Column {
  std::string title = {};
  bool right = true;  // aligned
  uint32_t keep =
      100;  // columns with the smallest value are dropped first where the line is too long; 100 is never dropped
  bool may_shrink = false;  // long texts end with "…" where the line is too long
};

struct Table {
  std::vector<Column> columns = {};
  std::vector<std::vector<std::string>> rows = {};
};

enum class Style : uint8_t { plain, bold, dim };

// The terminal: its width, and whether it understands escape codes.
struct Look {
  uint32_t width = 80;
  bool colour = false;
};

std::string styled(std::string_view text, Style style, const Look& look);
std::string as_text(const Table& table, const Look& look);
// All columns; where lines are too long, as several tables. Each has the first `fixed` columns.
std::string as_text_in_parts(const Table& table, size_t fixed, const Look& look);
std::string as_markdown(const Table& table);

// Lines of at most `width` columns; those after the first begin with `indent` spaces.
std::string wrapped(std::string_view text, uint32_t width, uint32_t indent);

// Columns that UTF-8 text takes, if no character is wide or combining.
size_t columns_of(std::string_view text);

}  // namespace fb::report
