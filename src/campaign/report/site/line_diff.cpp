#include "campaign/report/site/line_diff.h"

#include <algorithm>
#include <span>

namespace fb::report::site {
namespace {

using Lines = std::span<const std::string_view>;
using Kind = DiffLine::Kind;

constexpr int kMostChanges = 2000;

// The edit script in order; none if it is too long.
std::vector<Kind> shortest_script(Lines a, Lines b) {
  const int n = static_cast<int>(a.size()), m = static_cast<int>(b.size());
  const int most = std::min(n + m, kMostChanges);
  // The furthest x on diagonal k = x - y after d changes. Kept for each d, for the way back.
  std::vector<std::vector<int>> reached;
  std::vector<int> far(2 * static_cast<size_t>(most) + 3, 0);
  const auto at = [&](int k) -> int& { return far.begin()[k + most + 1]; };
  bool found = false;
  for (int d = 0; d <= most && !found; ++d) {
    std::vector<int> row(2 * static_cast<size_t>(d) + 1);
    for (int k = -d; k <= d && !found; k += 2) {
      int x = k == -d || (k != d && at(k - 1) < at(k + 1)) ? at(k + 1) : at(k - 1) + 1;
      while (x < n && x - k < m && a.begin()[x] == b.begin()[x - k]) ++x;
      at(k) = x;
      row.begin()[k + d] = x;
      found = x >= n && x - k >= m;
    }
    reached.push_back(std::move(row));
  }
  std::vector<Kind> script;
  if (!found) return script;
  int x = n, y = m;
  for (int d = static_cast<int>(reached.size()) - 1; d > 0; --d) {
    const auto& row = reached.begin()[d - 1];
    const auto before = [&](int k) { return row.begin()[k + d - 1]; };
    const int k = x - y;
    const bool down = k == -d || (k != d && before(k - 1) < before(k + 1));
    const int from_k = down ? k + 1 : k - 1, from_x = before(from_k), from_y = from_x - from_k;
    for (; x > from_x && y > from_y; --x, --y) script.push_back(Kind::same);
    script.push_back(down ? Kind::added : Kind::removed);
    x = from_x;
    y = from_y;
  }
  script.insert(script.end(), static_cast<size_t>(x), Kind::same);
  std::ranges::reverse(script);
  return script;
}

}  // namespace

std::vector<DiffLine> diff_lines(const std::vector<std::string_view>& before,
                                 const std::vector<std::string_view>& after) {
  const Lines a(before), b(after);
  const size_t shorter = std::min(a.size(), b.size());
  size_t head = 0, tail = 0;
  while (head < shorter && a[head] == b[head]) ++head;
  while (tail < shorter - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  const Lines old_middle = a.subspan(head, a.size() - head - tail),
              new_middle = b.subspan(head, b.size() - head - tail);

  std::vector<Kind> script(head, Kind::same);
  auto middle = shortest_script(old_middle, new_middle);
  if (middle.empty()) {
    middle.assign(old_middle.size(), Kind::removed);
    middle.insert(middle.end(), new_middle.size(), Kind::added);
  }
  script.insert(script.end(), middle.begin(), middle.end());
  script.insert(script.end(), tail, Kind::same);

  std::vector<DiffLine> lines;
  uint32_t x = 0, y = 0;
  for (const Kind kind : script) {
    if (kind != Kind::added) ++x;
    if (kind != Kind::removed) ++y;
    lines.push_back({.kind = kind, .before = kind == Kind::added ? 0 : x, .after = kind == Kind::removed ? 0 : y});
  }
  return lines;
}

}  // namespace fb::report::site
