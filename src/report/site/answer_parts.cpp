#include "report/site/answer_parts.h"

#include <algorithm>

#include "base/strings.h"

namespace fb::report::site {
namespace {

struct Fence {
  char mark = 0;  // 0: none
  size_t length = 0;
  std::string_view info = {};
};

Fence fence_in(std::string_view line) {
  constexpr size_t kMostIndent = 3, kLeastMarks = 3;
  const size_t indent = line.find_first_not_of(' ');
  if (indent == std::string_view::npos || indent > kMostIndent) return {};
  line.remove_prefix(indent);
  const char mark = line.front();
  if (mark != '`' && mark != '~') return {};
  const size_t length = std::min(line.find_first_not_of(mark), line.size());
  const std::string_view info = trim(line.substr(length));
  // A line of inline code is no fence.
  if (length < kLeastMarks || (mark == '`' && info.contains('`'))) return {};
  return {.mark = mark, .length = length, .info = info};
}

bool looks_like_code(std::string_view text) {
  const std::string_view start = trim(text);
  return start.starts_with("#include") || start.starts_with("// [solution") || start.starts_with("//") ||
         start.starts_with("class Solution");
}

}  // namespace

std::vector<AnswerPart> split_answer(std::string_view answer) {
  std::vector<AnswerPart> parts(1);
  Fence open;
  bool fenced = false;
  uint32_t number = 0;
  const auto begin = [&](bool is_code, std::string_view language) {
    parts.push_back({.is_code = is_code, .language = std::string(language), .first_line = number + 1});
  };
  while (!answer.empty()) {
    const size_t end = std::min(answer.find('\n'), answer.size());
    const std::string_view line = answer.substr(0, end);
    answer.remove_prefix(std::min(end + 1, answer.size()));
    ++number;
    const Fence fence = fence_in(line);
    if (open.mark == 0 && fence.mark != 0) {
      open = fence;
      fenced = true;
      begin(true, fence.info.substr(0, fence.info.find_first_of(" \t{")));
    } else if (open.mark != 0 && fence.mark == open.mark && fence.length >= open.length && fence.info.empty()) {
      open = {};
      begin(false, {});
    } else {
      parts.back().text.append(line).push_back('\n');
    }
  }
  std::erase_if(parts, [](const AnswerPart& part) { return trim(part.text).empty(); });
  if (!fenced && parts.size() == 1 && looks_like_code(parts[0].text)) parts[0].is_code = true;
  return parts;
}

int judged_part(const std::vector<AnswerPart>& parts) {
  int best = -1, best_rank = -1;
  for (int i = 0; i < static_cast<int>(parts.size()); ++i) {
    const AnswerPart& part = parts[static_cast<size_t>(i)];
    if (!part.is_code) continue;
    const int rank = part.text.contains("// [solution") ? 2 : part.text.contains("class Solution") ? 1 : 0;
    const bool longer = best >= 0 && part.text.size() > parts[static_cast<size_t>(best)].text.size();
    if (rank > best_rank || (rank == best_rank && (rank > 0 || longer))) {
      best = i;
      best_rank = rank;
    }
  }
  return best;
}

}  // namespace fb::report::site
