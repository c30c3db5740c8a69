#include "campaign/report/table.h"

#include <algorithm>
#include <numeric>

#include "common/base/strings.h"

namespace fb::report {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kLeastShrunk = 8;

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

std::string shortened(std::string_view text, size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  std::string kept;
  size_t used = 0;
  for (const char c : text) {
    if (starts_character(c) && ++used == columns) break;
    kept += c;
  }
  return kept + "…";
}

std::vector<size_t> widths_of(const Table& table) {
  std::vector<size_t> widths;
  for (size_t k = 0; k < table.columns.size(); ++k) {
    size_t width = columns_of(table.columns[k].title);
    for (const auto& row : table.rows) width = std::max(width, columns_of(row[k]));
    widths.push_back(width);
  }
  return widths;
}

size_t line_of(const std::vector<size_t>& widths, const std::vector<bool>& shown) {
  size_t line = 0;
  for (size_t k = 0; k < widths.size(); ++k) line += shown[k] ? widths[k] + kGap : 0;
  return line > kGap ? line - kGap : line;
}

// Drops columns, then shortens texts, until lines fit or nothing is left to drop.
void fit(const Table& table, size_t width, std::vector<size_t>& widths, std::vector<bool>& shown) {
  while (line_of(widths, shown) > width) {
    size_t least = table.columns.size();
    for (size_t k = 0; k < table.columns.size(); ++k) {
      if (shown[k] && table.columns[k].keep < 100 &&
          (least == table.columns.size() || table.columns[k].keep < table.columns[least].keep))
        least = k;
    }
    if (least == table.columns.size()) break;
    shown[least] = false;
  }
  for (size_t k = 0; k < table.columns.size(); ++k) {
    const size_t line = line_of(widths, shown);
    if (line <= width || !table.columns[k].may_shrink) continue;
    const size_t excess = line - width;
    widths[k] = widths[k] > excess + kLeastShrunk ? widths[k] - excess : std::min(widths[k], kLeastShrunk);
  }
}

std::string escaped(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

}  // namespace

size_t columns_of(std::string_view text) { return static_cast<size_t>(std::ranges::count_if(text, starts_character)); }

std::string styled(std::string_view text, Style style, const Look& look) {
  if (!look.colour || style == Style::plain) return std::string(text);
  return std::string(style == Style::bold ? "\033[1m" : "\033[2m") + std::string(text) + "\033[0m";
}

std::string as_text(const Table& table, const Look& look) {
  std::vector<size_t> widths = widths_of(table);
  std::vector<bool> shown(table.columns.size(), true);
  fit(table, look.width, widths, shown);
  const auto line = [&](const auto& cell_of) {
    std::string text;
    size_t owed = 0;  // spaces, written where something follows
    for (size_t k = 0; k < table.columns.size(); ++k) {
      if (!shown[k]) continue;
      const std::string cell = shortened(cell_of(k), widths[k]);
      const size_t space = widths[k] - columns_of(cell);
      const size_t before = table.columns[k].right ? space : 0;
      if (!cell.empty()) text += std::string(owed + before, ' ') + cell;
      owed = cell.empty() ? owed + widths[k] + kGap : space - before + kGap;
    }
    return text;
  };
  std::string text = styled(line([&](size_t k) { return table.columns[k].title; }), Style::bold, look) + "\n";
  for (const auto& row : table.rows) text += line([&](size_t k) { return row[k]; }) + "\n";
  return text;
}

std::string as_text_in_parts(const Table& table, size_t fixed, const Look& look) {
  const std::vector<size_t> widths = widths_of(table);
  size_t begin = 0;  // where each line starts
  for (size_t k = 0; k < fixed; ++k) {
    const size_t most = std::max<size_t>(kLeastShrunk, look.width / 3);
    begin += (table.columns[k].may_shrink ? std::min(widths[k], most) : widths[k]) + kGap;
  }
  std::string text;
  for (size_t next = fixed; next < table.columns.size();) {
    size_t end = next + 1, line = begin + widths[next];
    while (end < table.columns.size() && line + kGap + widths[end] <= look.width) line += kGap + widths[end++];
    const auto part_of = [&](const auto& cells) {
      auto part = cells;
      part.erase(part.begin() + static_cast<std::ptrdiff_t>(end), part.end());
      part.erase(part.begin() + static_cast<std::ptrdiff_t>(fixed), part.begin() + static_cast<std::ptrdiff_t>(next));
      return part;
    };
    Table part{.columns = part_of(table.columns), .rows = {}};
    for (Column& column : part.columns) column.keep = 100;
    for (const auto& row : table.rows) part.rows.push_back(part_of(row));
    text += (text.empty() ? "" : "\n") + as_text(part, look);
    next = end;
  }
  return text;
}

std::string as_markdown(const Table& table) {
  std::string text = "|", rule = "|";
  for (const Column& column : table.columns) {
    text += " " + escaped(column.title) + " |";
    rule += column.right ? "---:|" : "---|";
  }
  text += "\n" + rule + "\n";
  for (const auto& row : table.rows) {
    text += "|";
    for (const std::string& cell : row) text += " " + escaped(cell) + " |";
    text += "\n";
  }
  return text;
}

std::string wrapped(std::string_view text, uint32_t width, uint32_t indent) {
  std::string lines;
  size_t used = 0;
  for (const std::string_view word : split(text, ' ')) {
    const size_t columns = columns_of(word);
    if (used > 0 && used + 1 + columns > width) {
      lines += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (used > 0) {
      lines += ' ';
      ++used;
    }
    lines += word;
    used += columns;
  }
  return lines + "\n";
}

}  // namespace fb::report
