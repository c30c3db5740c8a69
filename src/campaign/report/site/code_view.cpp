#include "campaign/report/site/code_view.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "campaign/report/site/line_diff.h"
#include "campaign/report/site/words.h"
#include "common/base/strings.h"
#include "common/record/answer_file.h"

namespace fb::report::site {

namespace {

// "name.cu:17" in a text.
struct Mention {
  size_t begin = 0, end = 0;
  uint32_t line = 0;
};

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("_.-+").contains(c);
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<Mention> next_mention(std::string_view text, size_t from) {
  constexpr size_t kMostDigits = 7;
  for (size_t colon = text.find(':', from); colon != std::string_view::npos; colon = text.find(':', colon + 1)) {
    size_t begin = colon, end = colon + 1;
    while (begin > from && is_name(text[begin - 1])) --begin;
    while (end < text.size() && is_digit(text[end]) && end - colon <= kMostDigits) ++end;
    if (end == colon + 1 || !record::is_answer_file(text.substr(begin, colon - begin))) continue;
    return Mention{begin, end, static_cast<uint32_t>(std::stoul(std::string(text.substr(colon + 1, end - colon - 1))))};
  }
  return std::nullopt;
}

// The message after "file:17:10: "; empty after "file:17" alone.
std::string_view message_behind(std::string_view rest) {
  if (rest.starts_with(':')) {
    rest.remove_prefix(1);
    while (!rest.empty() && is_digit(rest.front())) rest.remove_prefix(1);
    if (rest.starts_with(':')) return trim(rest.substr(1));
  }
  return {};
}

std::vector<std::string_view> lines_of(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text.empty() ? std::vector<std::string_view>{} : split(text, '\n');
}

// Which lines of a diff are shown: the changes, and a few around them.
std::vector<bool> near_changes(const std::vector<DiffLine>& diff) {
  constexpr size_t kContext = 3;
  std::vector<bool> shown(diff.size(), false);
  for (size_t i = 0; i < diff.size(); ++i) {
    if (diff[i].kind == DiffLine::Kind::same) continue;
    for (size_t j = i < kContext ? 0 : i - kContext; j < std::min(diff.size(), i + kContext + 1); ++j) shown[j] = true;
  }
  return shown;
}

}  // namespace

LineNotes mentioned_lines(std::string_view text) {
  constexpr size_t kMostNotes = 3;
  LineNotes notes;
  for (const std::string_view line : split(text, '\n')) {
    for (auto found = next_mention(line, 0); found; found = next_mention(line, found->end)) {
      auto& said = notes[found->line];
      const std::string_view message = message_behind(line.substr(found->end));
      // Without the PTX line, which means nothing to a reader of the source and would make equal notes differ.
      std::string_view whole = trim(line);
      whole = whole.substr(0, whole.find(" [PTX line"));
      const std::string note(message.empty() ? whole : message);
      if (said.size() < kMostNotes && std::ranges::find(said, note) == said.end()) said.push_back(note);
    }
  }
  return notes;
}

Html code_block(std::string_view code) {
  if (code.ends_with('\n')) code.remove_suffix(1);
  return html("<pre class=\"code plain\" tabindex=\"0\"><code>{}\n</code></pre>\n", code);
}

Html code_view(std::string_view code, uint32_t first_line, const LineNotes& notes, const LineShares& shares) {
  // The number as an attribute: the text of the element stays the code alone.
  const auto share_of = [&](uint32_t line) {
    if (shares.empty()) return Html();
    const auto found = shares.find(line);
    if (found == shares.end()) return html("<i class=\"share\"></i>");
    return html("<i class=\"share\" data-t=\"{}\" style=\"--v:{:.0f}%\"></i>", share_text(found->second),
                100 * found->second);
  };
  Html lines;
  uint32_t number = first_line;
  for (const std::string_view line : lines_of(code)) {
    const auto said = notes.find(number);
    lines += html("<span class=\"l{}\" id=\"L{}\"><a href=\"#L{}\" data-n=\"{}\"></a>{}<span>{}\n</span></span>",
                  said == notes.end() ? "" : " hit", number, number, number, share_of(number), line);
    if (said != notes.end()) {
      for (const std::string& note : said->second) lines += html("<span class=\"said\">{}</span>", note);
    }
    ++number;
  }
  return html("<pre class=\"code\" tabindex=\"0\"><code>{}</code></pre>\n", lines);
}

Html diff_view(std::string_view before, uint32_t before_first, std::string_view after, uint32_t after_first) {
  const auto old_lines = lines_of(before), new_lines = lines_of(after);
  const auto diff = diff_lines(old_lines, new_lines);
  const auto shown = near_changes(diff);
  Html lines;
  size_t left_out = 0, removed = 0, added = 0;
  const auto end_gap = [&] {
    if (left_out > 0) lines += html("<span class=\"gap\">{} unchanged lines</span>", left_out);
    left_out = 0;
  };
  for (size_t i = 0; i < diff.size(); ++i) {
    if (!shown[i]) {
      ++left_out;
      continue;
    }
    end_gap();
    const auto [kind, old_line, new_line] = diff[i];
    const bool is_old = kind == DiffLine::Kind::removed, is_new = kind == DiffLine::Kind::added;
    removed += is_old;
    added += is_new;
    const uint32_t line = is_old ? old_line : new_line, number = line - 1 + (is_old ? before_first : after_first);
    const std::string_view text = (is_old ? old_lines : new_lines)[line - 1];
    if (is_old || is_new) {
      lines += html("<span class=\"l {}\"><i data-n=\"{}\" data-s=\"{}\"></i><span>{}\n</span></span>",
                    is_old ? "del" : "add", number, is_old ? "\u2212" : "+", text);
    } else {
      lines += html("<span class=\"l\"><i data-n=\"{}\" data-s=\"\"></i><span>{}\n</span></span>", number, text);
    }
  }
  end_gap();
  if (removed + added == 0) return html("<p class=\"muted\">The code is the same.</p>\n");
  return html(
      "<p class=\"muted\"><span class=\"plus\">+{}</span> <span class=\"minus\">\u2212{}</span> lines</p>\n"
      "<pre class=\"code diff\" tabindex=\"0\"><code>{}</code></pre>\n",
      added, removed, lines);
}

Html linked_text(std::string_view text, const LineNotes& notes) {
  Html out;
  size_t from = 0;
  for (auto found = next_mention(text, 0); found; found = next_mention(text, found->end)) {
    if (!notes.contains(found->line)) continue;
    out += Html::text(text.substr(from, found->begin - from));
    out += html("<a href=\"#L{}\">{}</a>", found->line, text.substr(found->begin, found->end - found->begin));
    from = found->end;
  }
  out += Html::text(text.substr(from));
  return out;
}

}  // namespace fb::report::site
