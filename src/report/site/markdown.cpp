#include "report/site/markdown.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "base/strings.h"
#include "report/site/answer_parts.h"
#include "report/site/code_view.h"

namespace fb::report::site {
namespace {

using Lines = std::vector<std::string_view>;

constexpr int kDeepest = 4;        // of what stands in each other
constexpr size_t kLongest = 1000;  // of what is between two marks; bounds the time for hostile text

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }
bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Where the marks that begin at `from` end, or npos. Marks hug what they mark.
size_t closing(std::string_view text, size_t from, std::string_view mark) {
  const size_t start = from + mark.size();
  if (start >= text.size() || is_space(text[start])) return std::string_view::npos;
  const std::string_view reach = text.substr(0, std::min(text.size(), start + kLongest));
  for (size_t end = reach.find(mark, start + 1); end != std::string_view::npos; end = reach.find(mark, end + 1)) {
    if (!is_space(reach[end - 1])) return end;
  }
  return std::string_view::npos;
}

Html render_inline(std::string_view text, int depth = 0) {
  Html out;
  size_t plain = 0, i = 0;
  const auto flush = [&] { out += Html::text(text.substr(plain, i - plain)); };
  while (i < text.size()) {
    const char c = text[i];
    if (c == '`') {
      const size_t ticks = std::min(text.find_first_not_of('`', i), text.size()) - i;
      const std::string mark(ticks, '`');
      const size_t end = text.substr(0, std::min(text.size(), i + kLongest)).find(mark, i + ticks);
      if (end != std::string_view::npos) {
        flush();
        out += html("<code>{}</code>", trim(text.substr(i + ticks, end - i - ticks)));
        plain = i = end + ticks;
      } else {
        i += ticks;
      }
      continue;
    }
    if (c == '[' && depth < kDeepest) {
      const std::string_view reach = text.substr(i, kLongest);
      const size_t middle = reach.find("]("), end = middle == std::string_view::npos ? middle : reach.find(')', middle);
      if (end != std::string_view::npos && reach.find('[', 1) > middle) {
        flush();
        out += html("{} <small>({})</small>", render_inline(reach.substr(1, middle - 1), depth + 1),
                    reach.substr(middle + 2, end - middle - 2));
        i += end + 1;
        plain = i;
        continue;
      }
    }
    const bool inside_word = i > 0 && is_alnum(text[i - 1]);
    if (depth < kDeepest && (c == '*' || (c == '_' && !inside_word))) {
      const std::string_view mark = text.substr(i, i + 1 < text.size() && text[i + 1] == c ? 2 : 1);
      const size_t end = closing(text, i, mark);
      const bool ends_inside_word = c == '_' && end != std::string_view::npos && end + mark.size() < text.size() &&
                                    is_alnum(text[end + mark.size()]);
      if (end != std::string_view::npos && !ends_inside_word) {
        flush();
        const Html inner = render_inline(text.substr(i + mark.size(), end - i - mark.size()), depth + 1);
        out += mark.size() == 2 ? html("<strong>{}</strong>", inner) : html("<em>{}</em>", inner);
        plain = i = end + mark.size();
      } else {
        i += mark.size();
      }
      continue;
    }
    // A backslash before a sign makes it plain.
    if (c == '\\' && i + 1 < text.size() && std::ispunct(static_cast<unsigned char>(text[i + 1])) != 0) {
      flush();
      plain = i + 1;
      i += 2;
      continue;
    }
    ++i;
  }
  flush();
  return out;
}

size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

// The length of "- " or "12. ", with the indent; 0: no item of a list.
size_t item_mark(std::string_view line, bool& ordered) {
  const size_t indent = indent_of(line);
  size_t i = indent;
  if (i < line.size() && (line[i] == '-' || line[i] == '*' || line[i] == '+')) {
    ordered = false;
    ++i;
  } else {
    constexpr size_t kMostDigits = 4;
    while (i < line.size() && std::isdigit(static_cast<unsigned char>(line[i])) != 0 && i - indent < kMostDigits) ++i;
    if (i == indent || i >= line.size() || (line[i] != '.' && line[i] != ')')) return 0;
    ordered = true;
    ++i;
  }
  return i < line.size() && line[i] == ' ' ? i + 1 : 0;
}

bool is_rule(std::string_view line) {
  const std::string_view marks = trim(line);
  return marks.size() >= 3 && std::string_view("-*_").contains(marks[0]) &&
         marks.find_first_not_of(marks.substr(0, 1)) == std::string_view::npos;
}

size_t heading_marks(std::string_view line) {
  const size_t marks = std::min(line.find_first_not_of('#'), line.size());
  return marks >= 1 && marks <= 6 && marks < line.size() && line[marks] == ' ' ? marks : 0;
}

bool is_table_rule(std::string_view line) {
  return line.contains('-') && line.contains('|') && line.find_first_not_of("|-: ") == std::string_view::npos;
}

std::vector<std::string_view> cells_of(std::string_view row) {
  row = trim(row);
  if (row.starts_with('|')) row.remove_prefix(1);
  if (row.ends_with('|')) row.remove_suffix(1);
  return split(row, '|');
}

class Blocks {
 public:
  Blocks(Lines lines, int first_heading, int depth)
      : lines_(std::move(lines)), first_heading_(first_heading), depth_(depth) {}

  Html render() {
    while (at_ < lines_.size()) block();
    return std::move(out_);
  }

 private:
  std::string_view line() const { return lines_[at_]; }

  bool begins_block() const {
    bool ordered = false;
    return trim(line()).empty() || heading_marks(line()) > 0 || line().starts_with('>') || is_rule(line()) ||
           item_mark(line(), ordered) > 0;
  }

  void block() {
    bool ordered = false;
    if (trim(line()).empty()) {
      ++at_;
    } else if (const size_t marks = heading_marks(line()); marks > 0) {
      const int level = std::min(first_heading_ + static_cast<int>(marks) - 1, 6);
      out_ += html("<h{0}>{1}</h{0}>\n", level, render_inline(trim(line().substr(marks))));
      ++at_;
    } else if (is_rule(line())) {
      out_ += html("<hr>\n");
      ++at_;
    } else if (line().starts_with('>') && depth_ < kDeepest) {
      quote();
    } else if (item_mark(line(), ordered) > 0 && depth_ < kDeepest) {
      list(ordered);
    } else if (line().contains('|') && at_ + 1 < lines_.size() && is_table_rule(lines_[at_ + 1])) {
      table();
    } else {
      paragraph();
    }
  }

  void paragraph() {
    std::string text;
    do {
      text += (text.empty() ? "" : "\n") + std::string(trim(line()));
      ++at_;
    } while (at_ < lines_.size() && !begins_block());
    out_ += html("<p>{}</p>\n", render_inline(text));
  }

  void quote() {
    Lines inner;
    for (; at_ < lines_.size() && line().starts_with('>'); ++at_) {
      std::string_view text = line().substr(1);
      if (text.starts_with(' ')) text.remove_prefix(1);
      inner.push_back(text);
    }
    out_ += html("<blockquote>{}</blockquote>\n", Blocks(std::move(inner), first_heading_, depth_ + 1).render());
  }

  // Lines that are indented as far as the item's text, or go on with its paragraph, belong to it.
  void list(bool ordered) {
    Html items;
    const size_t indent = indent_of(line());
    while (at_ < lines_.size()) {
      bool same = ordered;
      const size_t mark = item_mark(line(), same);
      if (mark == 0 || same != ordered || indent_of(line()) > indent + 1) break;
      Lines inner = {line().substr(mark)};
      for (++at_; at_ < lines_.size(); ++at_) {
        bool any = false;
        const bool blank = trim(line()).empty();
        if (blank && (at_ + 1 == lines_.size() || indent_of(lines_[at_ + 1]) < mark)) break;
        if (!blank && indent_of(line()) < mark && (item_mark(line(), any) > 0 || heading_marks(line()) > 0)) break;
        if (!blank && indent_of(line()) < mark && trim(inner.back()).empty()) break;
        inner.push_back(line().substr(std::min(indent_of(line()), mark)));
      }
      items += html("<li>{}</li>\n", item(std::move(inner)));
      if (at_ < lines_.size() && trim(line()).empty() && at_ + 1 < lines_.size()) {
        bool next = ordered;
        if (item_mark(lines_[at_ + 1], next) > 0 && next == ordered) ++at_;
      }
    }
    out_ += ordered ? html("<ol>\n{}</ol>\n", items) : html("<ul>\n{}</ul>\n", items);
  }

  // An item of one paragraph is that text alone.
  Html item(Lines inner) {
    bool single = true;
    for (size_t i = 0; i < inner.size(); ++i) {
      bool ordered = false;
      single = single && !trim(inner[i]).empty() && (i == 0 || item_mark(inner[i], ordered) == 0);
    }
    if (!single) return Blocks(std::move(inner), first_heading_, depth_ + 1).render();
    std::string text;
    for (const std::string_view part : inner) text += (text.empty() ? "" : "\n") + std::string(trim(part));
    return render_inline(text);
  }

  void table() {
    Html head, body;
    for (const auto cell : cells_of(line())) head += html("<th>{}</th>", render_inline(trim(cell)));
    for (at_ += 2; at_ < lines_.size() && line().contains('|') && !trim(line()).empty(); ++at_) {
      Html row;
      for (const auto cell : cells_of(line())) row += html("<td>{}</td>", render_inline(trim(cell)));
      body += html("<tr>{}</tr>\n", row);
    }
    out_ +=
        html("<div class=\"scroll\"><table><thead><tr>{}</tr></thead><tbody>\n{}</tbody></table></div>\n", head, body);
  }

  Lines lines_;
  int first_heading_, depth_;
  size_t at_ = 0;
  Html out_;
};

}  // namespace

Html render_markdown(std::string_view text, int first_heading) {
  Html out;
  for (const AnswerPart& part : split_answer(text)) {
    out += part.is_code ? code_block(part.text) : Blocks(split(part.text, '\n'), first_heading, 0).render();
  }
  return out;
}

}  // namespace fb::report::site
