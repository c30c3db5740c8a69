#include "campaign/prompts/text_template.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "common/base/strings.h"

namespace fb::prompts {
namespace {

struct Tag {
  enum class Kind : uint8_t { value, open, close, omit } kind = Kind::value;
  std::string name = {};
  size_t begin = 0, end = 0;  // in the line, braces included
};

std::optional<Tag> next_tag(std::string_view line, size_t from) {
  const size_t begin = line.find("{{", from);
  const size_t end = begin == std::string_view::npos ? begin : line.find("}}", begin);
  if (end == std::string_view::npos) return std::nullopt;
  Tag tag{.begin = begin, .end = end + 2};
  std::string_view inside = trim(line.substr(begin + 2, end - begin - 2));
  constexpr std::string_view kOmit = "omit ";
  if (inside.starts_with('#') || inside.starts_with('/')) {
    tag.kind = inside[0] == '#' ? Tag::Kind::open : Tag::Kind::close;
    inside.remove_prefix(1);
  } else if (inside.starts_with(kOmit)) {
    tag.kind = Tag::Kind::omit;
    inside.remove_prefix(kOmit.size());
  }
  tag.name = trim(inside);
  return tag;
}

// Whether the line has only this tag and blanks: then it is removed.
bool stands_alone(std::string_view line, const Tag& tag) {
  return tag.kind != Tag::Kind::value && trim(line).size() == tag.end - tag.begin;
}

class Filler {
 public:
  Filler(std::string_view file, const Values& values) : file_(file), values_(values) {}

  Result<std::string> fill(std::string_view text) {
    for (const std::string_view line : split(text, '\n')) {
      ++line_;
      take(line);
    }
    if (!out_.empty()) out_.pop_back();  // the newline after the last line
    for (const Section& section : open_) complain(fmt::format("{{{{#{}}}}} is not closed", section.name), section.line);
    for (const auto& [name, value] : values_) {
      if (!used_.contains(name))
        complain(fmt::format("{{{{{0}}}}} is not used: say {{{{omit {0}}}}} if it is to be left out", name), line_);
    }
    if (!errors_.list.empty()) return std::unexpected(std::move(errors_));
    return std::move(out_);
  }

 private:
  struct Section {
    std::string name;
    size_t line;
    bool shown;
  };

  void take(std::string_view line) {
    size_t at = 0;
    while (const auto tag = next_tag(line, at)) {
      if (stands_alone(line, *tag)) return obey(*tag);
      append(line.substr(at, tag->begin - at));
      obey(*tag);
      at = tag->end;
    }
    append(line.substr(at));
    append("\n");
  }

  void obey(const Tag& tag) {
    const auto value = values_.find(tag.name);
    if (value == values_.end()) {
      std::vector<std::string> known;
      for (const auto& [name, text] : values_) known.push_back(name);
      complain(fmt::format("there is no {{{{{}}}}}; known: {}", tag.name, fmt::join(known, " ")), line_);
      return;
    }
    used_.insert(tag.name);
    if (tag.kind == Tag::Kind::value) append(value->second);
    if (tag.kind == Tag::Kind::open) open_.push_back({tag.name, line_, !value->second.empty()});
    if (tag.kind == Tag::Kind::close) {
      if (open_.empty() || open_.back().name != tag.name) {
        complain(fmt::format("{{{{/{}}}}} closes nothing", tag.name), line_);
      } else {
        open_.pop_back();
      }
    }
  }

  void append(std::string_view text) {
    if (std::ranges::all_of(open_, &Section::shown)) out_ += text;
  }

  void complain(const std::string& message, size_t line) {
    errors_.list.push_back({{}, fmt::format("{}:{}: {}", file_, line, message)});
  }

  std::string_view file_;
  const Values& values_;
  std::string out_;
  std::vector<Section> open_;
  std::set<std::string> used_;
  size_t line_ = 0;
  Errors errors_;
};

}  // namespace

Result<std::string> fill(std::string_view file, std::string_view text, const Values& values) {
  return Filler(file, values).fill(text);
}

}  // namespace fb::prompts
