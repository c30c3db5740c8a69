#include "virtual_node/simt/lower/block_order.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace fb::simt {
namespace {

using Blocks = std::vector<uint32_t>;

// Blocks in the order in which a walk leaves them. `sorted(b)`: the successors of a block in the order in which it goes
// there. Every edge to a block that the walk is still in is given to `back`.
template <class Sorted, class Back>
Blocks leave_order(size_t count, Sorted sorted, Back back) {
  enum class State : uint8_t { fresh, entered, left };
  std::vector<State> state(count, State::fresh);
  Blocks order;
  struct Visit {
    uint32_t block;
    Blocks next;
    size_t done = 0;
  };
  std::vector<Visit> path;
  const auto enter = [&](uint32_t b) {
    state[b] = State::entered;
    path.push_back({b, sorted(b)});
  };
  enter(0);
  while (!path.empty()) {
    Visit& visit = path.back();
    if (visit.done == visit.next.size()) {
      state[visit.block] = State::left;
      order.push_back(visit.block);
      path.pop_back();
      continue;
    }
    const uint32_t to = visit.next[visit.done++];
    if (state[to] == State::entered) back(visit.block, to);
    if (state[to] == State::fresh) enter(to);
  }
  return order;
}

}  // namespace

std::vector<uint32_t> block_order(const Flow& flow) {
  const auto count = static_cast<uint32_t>(flow.block_begin.size());
  Blocks own(count);
  std::iota(own.begin(), own.end(), 0);
  if (count < 3) return own;
  std::vector<std::pair<uint32_t, uint32_t>> back;  // from, to
  leave_order(
      count, [&](uint32_t b) { return flow.next[b]; },
      [&](uint32_t from, uint32_t to) { back.emplace_back(from, to); });
  const auto is_back = [&](uint32_t from, uint32_t to) {
    return std::ranges::find(back, std::pair(from, to)) != back.end();
  };
  bool in_order = true;
  for (uint32_t b = 0; b < count; ++b) {
    for (const uint32_t to : flow.next[b]) in_order &= to > b || is_back(b, to);
  }
  if (in_order) return own;

  std::vector<Blocks> before(count);
  for (uint32_t b = 0; b < count; ++b) {
    for (const uint32_t to : flow.next[b]) before[to].push_back(b);
  }
  // The blocks of each loop: those from which its jump back is reached without its head.
  std::vector<std::vector<bool>> loops;
  for (const auto& [from, head] : back) {
    std::vector<bool> inside(count, false);
    inside[head] = true;
    Blocks todo = {from};
    while (!todo.empty()) {
      const uint32_t b = todo.back();
      todo.pop_back();
      if (inside[b]) continue;
      inside[b] = true;
      todo.insert(todo.end(), before[b].begin(), before[b].end());
    }
    loops.push_back(std::move(inside));
  }
  // What is left last lies first: a walk that goes to where it leaves most loops first, and of equals to the last.
  const auto sorted = [&](uint32_t b) {
    Blocks next = flow.next[b];
    const auto left = [&](uint32_t to) {
      return std::ranges::count_if(loops, [&](const auto& inside) { return inside[b] && !inside[to]; });
    };
    std::ranges::sort(next, [&](uint32_t x, uint32_t y) { return std::pair(left(x), x) > std::pair(left(y), y); });
    return next;
  };
  Blocks order = leave_order(count, sorted, [](uint32_t, uint32_t) {});
  std::ranges::reverse(order);
  // Blocks that nothing reaches.
  std::vector<bool> placed(count, false);
  for (const uint32_t b : order) placed[b] = true;
  for (uint32_t b = 0; b < count; ++b) {
    if (!placed[b]) order.push_back(b);
  }
  return order;
}

}  // namespace fb::simt
