#include "common/base/spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace fb {
namespace {

enum class Ends : uint8_t { count, free };

// Letters that are missing, too many, others, or two in the wrong order. With free ends: the distance to the most
// similar part of `b`.
size_t distance(std::string_view a, std::string_view b, Ends ends) {
  std::vector<std::vector<size_t>> rows(a.size() + 1, std::vector<size_t>(b.size() + 1, 0));
  if (ends == Ends::count) std::iota(rows[0].begin(), rows[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    rows[i][0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return ends == Ends::count ? rows.back().back() : *std::ranges::min_element(rows.back());
}

}  // namespace

std::vector<std::string> nearest(std::string_view word, std::span<const std::string> known) {
  // A part of a name matches too, behind whole names: "one_shot" for "all_reduce_one_shot".
  constexpr size_t kMost = 3, kShortestPart = 4;
  const size_t reach = std::max<size_t>(1, word.size() / 4);
  std::vector<std::pair<size_t, std::string>> found;
  for (const std::string& name : known) {
    if (const size_t whole = distance(word, name, Ends::count); whole <= reach) {
      found.emplace_back(whole, name);
    } else if (word.size() >= kShortestPart) {
      const size_t part = distance(word, name, Ends::free);
      if (part <= reach) found.emplace_back(reach + 1 + part, name);
    }
  }
  std::ranges::sort(found);
  std::vector<std::string> names;
  for (size_t k = 0; k < std::min(kMost, found.size()); ++k) names.push_back(std::move(found[k].second));
  return names;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  std::string text;
  for (const std::string& name : nearest(word, known)) text += fmt::format("{}'{}'", text.empty() ? "" : " or ", name);
  return text.empty() ? text : "; did you mean " + text + "?";
}

}  // namespace fb
