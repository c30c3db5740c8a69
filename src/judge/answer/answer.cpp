#include "judge/answer/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "common/base/strings.h"
#include "judge/answer/code_text.h"
#include "judge/catalog/markers.h"
#include "judge/catalog/source.h"

namespace fb::judge {
namespace {

using catalog::Region;
using Regions = std::vector<Region>;

constexpr size_t kMostBytes = 1u << 20;

// Instructions for an answer without a solution.
std::string advice(const Regions& wanted) {
  std::string text = "answer with the template as a whole, in one code block, and your code between ";
  for (size_t i = 0; i < wanted.size(); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? "" : ", between ", catalog::marker_text(wanted[i].name));
  }
  return text + " and '// [/solution]'";
}

std::string title(const Region& region) {
  return region.name.empty() ? "the region '// [solution]'" : fmt::format("the region '{}'", region.name);
}

// Ends of lines as the compiler's, no byte order mark. Lines stay lines.
std::string normalised(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      out += '\n';
    }
  }
  return out;
}

bool has_markers(std::string_view text) {
  return std::ranges::any_of(catalog::lines_of(text), [](auto line) { return catalog::marker_in(line).has_value(); });
}

bool has_all(const Regions& found, const Regions& wanted) {
  return std::ranges::all_of(wanted, [&](const Region& region) {
    return std::ranges::find(found, region.name, &Region::name) != found.end();
  });
}

// Errors in markers, as sentences about the answer.
Errors about_answer(Errors errors) {
  for (auto& [at, message] : errors.list) {
    if (message.starts_with("is not closed")) message.insert(0, "the region that begins here ");
    if (message.starts_with("has no region")) message.insert(0, "the answer ");
  }
  return errors;
}

// The lines of code outside the regions.
std::set<std::string> lines_outside(std::string_view text) {
  std::set<std::string> lines;
  bool inside = false;
  for (const auto line : catalog::lines_of(text)) {
    const auto marker = catalog::marker_in(line);
    if (marker) inside = marker->kind != catalog::Marker::Kind::close;
    if (marker || inside || trim(line).empty() || trim(line).starts_with("//")) continue;
    lines.emplace(trim(line));
  }
  return lines;
}

class Reader {
 public:
  Reader(const catalog::Problem& problem, std::string text, Regions wanted)
      : problem_(problem), text_(std::move(text)), wanted_(std::move(wanted)), blocks_(find_fences(text_)) {}

  Result<Answer> read() {
    if (has_markers(text_)) return read_marked();
    return read_unmarked();
  }

 private:
  // The text with everything but these blocks blanked, so that lines keep their numbers. No blocks: all of it.
  std::string code_of(std::span<const Fence> blocks) const {
    if (blocks.empty()) return text_;
    std::string code;
    uint32_t line = 1;
    for (const auto& block : blocks) {
      for (; line < block.first_line; ++line) code += '\n';
      code += block.text;
      line += static_cast<uint32_t>(std::ranges::count(block.text, '\n'));
    }
    return code;
  }

  Result<Answer> read_marked() {
    std::vector<Fence> marked, whole;
    for (const auto& block : blocks_) {
      if (!has_markers(block.text)) continue;
      marked.push_back(block);
      if (const auto found = catalog::regions_of(block.text); found && has_all(*found, wanted_)) whole.push_back(block);
    }
    if (whole.size() > 1) notes_.emplace_back("several code blocks have all regions: the last one was taken");
    if (!whole.empty()) marked = {whole.back()};
    return take(code_of(marked));
  }

  Result<Answer> take(const std::string& code) {
    const auto found = catalog::regions_of(code);
    if (!found) return std::unexpected(about_answer(found.error()));
    Answer answer;
    Errors errors;
    for (const Region& region : wanted_) {
      const auto given = std::ranges::find(*found, region.name, &Region::name);
      if (given == found->end()) {
        errors.list.push_back({{}, fmt::format("{} is missing: {}", title(region), advice(wanted_))});
      } else if (trim(given->solution).empty()) {
        errors.list.push_back({{given->line, 1}, fmt::format("{} is empty", title(region))});
      } else {
        answer.regions.emplace_back(region.name, given->solution);
        answer.first_lines.push_back(given->line + 1);
      }
    }
    for (const Region& region : *found) {
      if (std::ranges::find(wanted_, region.name, &Region::name) == wanted_.end()) {
        errors.list.push_back({{region.line, 1}, fmt::format("the problem has no region '{}'", region.name)});
      }
    }
    if (!errors.list.empty()) return std::unexpected(std::move(errors));
    note_unused(code);
    answer.notes = std::move(notes_);
    return answer;
  }

  void note_unused(const std::string& code) {
    const auto shown = catalog::make_template(problem_);
    const auto mine = lines_outside(code);
    if (shown && std::ranges::includes(lines_outside(*shown), mine)) return;
    notes_.emplace_back("text outside the regions was not used: the judge has its own");
  }

  Result<Answer> read_unmarked() {
    std::vector<Fence> solutions;
    for (const auto& block : blocks_) {
      if (defines_class(block.text, "Solution")) solutions.push_back(block);
    }
    if (blocks_.empty() && defines_class(text_, "Solution") && begins_as_code(text_)) {
      solutions.push_back({.text = text_, .first_line = 1});
    }
    if (solutions.empty()) {
      return error(
          fmt::format("the answer has no solution in it: no regions and no code that defines 'class Solution'; {}",
                      advice(wanted_)));
    }
    if (wanted_.size() > 1) {
      return error(
          fmt::format("the answer has no regions, and the problem has {}: {}", wanted_.size(), advice(wanted_)));
    }
    if (solutions.size() > 1) {
      return error(fmt::format("{} code blocks define 'class Solution', and none has the markers: {}", solutions.size(),
                               advice(wanted_)));
    }
    Answer answer;
    answer.regions.emplace_back(wanted_[0].name, solutions[0].text);
    answer.first_lines.push_back(solutions[0].first_line);
    answer.notes.emplace_back("the answer has no markers: all of the code that defines 'class Solution' was taken");
    return answer;
  }

  const catalog::Problem& problem_;
  std::string text_;
  Regions wanted_;
  std::vector<Fence> blocks_;
  std::vector<std::string> notes_;
};

}  // namespace

record::LineRange judged_lines(const Answer& answer) {
  record::LineRange range;
  for (size_t i = 0; i < answer.regions.size(); ++i) {
    const std::string& text = answer.regions[i].second;
    const auto breaks = static_cast<uint32_t>(std::ranges::count(text, '\n'));
    const uint32_t first = answer.first_lines[i];
    const uint32_t last = first + breaks - (breaks > 0 && text.ends_with('\n') ? 1 : 0);
    range.first = range.known() ? std::min(range.first, first) : first;
    range.last = std::max(range.last, last);
  }
  return range;
}

Result<Answer> read_answer(const catalog::Problem& problem, std::string_view text) {
  auto wanted = catalog::regions_of(problem.reference);
  if (!wanted) return std::unexpected(wanted.error());
  if (text.size() > kMostBytes) {
    return error(fmt::format("the answer is {} KiB long; the most is {}", text.size() >> 10, kMostBytes >> 10));
  }
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    const auto line = static_cast<uint32_t>(std::ranges::count(text.substr(0, nul), '\n')) + 1;
    return error("the answer holds a NUL byte: it is no text", {line, 1});
  }
  std::string lines = normalised(text);
  if (trim(lines).empty()) return error(fmt::format("the answer is empty: {}", advice(*wanted)));
  return Reader(problem, std::move(lines), std::move(*wanted)).read();
}

}  // namespace fb::judge
