#include "launcher/explore.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/strings.h"

namespace fb::launcher {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// Runs one schedule after the other and keeps their shared state: the time left, and that only the first run prints.
class Runs {
 public:
  Runs(LaunchRequest request, const ExploreLimits& limits, const RunOnce& run)
      : limits_(limits), run_(run), explored_{.request = std::move(request)} {}

  LaunchRequest& request() { return explored_.request; }

  // Runs request(). True: and so on; false: `end` is set.
  Result<bool> once() {
    if (explored_.schedules == limits_.schedules) return stop(Explored::End::limit);
    if (limits_.time) {
      request().timeout = std::chrono::ceil<Milliseconds>(begin_ + *limits_.time - Clock::now());
      if (*request().timeout <= Milliseconds(0)) return stop(Explored::End::time);
    }
    auto ran = run_(request());
    if (!ran) return std::unexpected(std::move(ran.error()));
    request().out = request().err = -1;
    // Time that is up says nothing about the program, unless it has never come to its end.
    if (ran->record.ending == record::Ending::timeout && explored_.schedules != 0) return stop(Explored::End::time);
    ++explored_.schedules;
    explored_.counts += ran->record.checked;
    explored_.last = std::move(*ran);
    if (explored_.last.exit_code != 0) return stop(Explored::End::found);
    // Where nothing ran that the schedule decides about, other schedules are the same.
    return explored_.counts.any() || !request().options.check || stop(Explored::End::nothing);
  }

  bool stop(Explored::End end) {
    explored_.end = end;
    return false;
  }
  const record::RunRecord& record() const { return explored_.last.record; }
  Explored result() && { return std::move(explored_); }

 private:
  const ExploreLimits& limits_;
  const RunOnce& run_;
  Explored explored_;
  Clock::time_point begin_ = Clock::now();
};

// Whether the run has done what the list said, and found the same choices as the run before up to where they part.
bool is_repeated(const std::vector<uint32_t>& list, const std::vector<record::Choice>& before,
                 const std::vector<record::Choice>& now) {
  if (now.size() < list.size()) return false;
  for (size_t k = 0; k < list.size(); ++k) {
    if (now[k].taken != list[k] || now[k].options != before[k].options || now[k].interrupts != before[k].interrupts)
      return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<uint32_t>> next_choices(const std::vector<record::Choice>& taken, uint32_t preemptions) {
  uint64_t before = 0;  // preemptions up to each choice
  std::vector<uint64_t> used;
  for (const record::Choice& choice : taken) {
    used.push_back(before);
    before += choice.interrupts && choice.taken != 0 ? 1 : 0;
  }
  for (size_t k = taken.size(); k-- > 0;) {
    if (taken[k].taken + 1 >= taken[k].options) continue;
    if (used[k] + (taken[k].interrupts ? 1 : 0) > preemptions) continue;
    std::vector<uint32_t> next;
    for (size_t j = 0; j < k; ++j) next.push_back(taken[j].taken);
    next.push_back(taken[k].taken + 1);
    return next;
  }
  return std::nullopt;
}

Result<Explored> explore_seeds(LaunchRequest request, const ExploreLimits& limits, const RunOnce& run) {
  Runs runs(std::move(request), limits, run);
  runs.request().options.seed = 1;
  while (true) {
    const auto goes_on = runs.once();
    if (!goes_on) return std::unexpected(goes_on.error());
    if (!*goes_on) return std::move(runs).result();
    ++runs.request().options.seed;
  }
}

Result<Explored> explore_all(LaunchRequest request, uint32_t preemptions, const ExploreLimits& limits,
                             const RunOnce& run) {
  Runs runs(std::move(request), limits, run);
  runs.request().options.choices.emplace();
  std::vector<record::Choice> before;
  while (true) {
    const auto goes_on = runs.once();
    if (!goes_on) return std::unexpected(goes_on.error());
    if (!*goes_on) break;
    const std::vector<record::Choice>& taken = runs.record().choices;
    if (!runs.record().replayable || !is_repeated(*runs.request().options.choices, before, taken)) {
      runs.stop(Explored::End::unrepeated);
      break;
    }
    auto next = next_choices(taken, preemptions);
    if (!next) break;
    before = taken;
    runs.request().options.choices = std::move(*next);
  }
  return std::move(runs).result();
}

std::string describe_seeds(const Explored& explored, const ExploreLimits& limits) {
  if (explored.end == Explored::End::time) {
    return fmt::format("{} of {} (seeds from 1) until time was up", explored.schedules,
                       count_of(limits.schedules, "schedule"));
  }
  return fmt::format("{} (seeds from 1)", count_of(explored.schedules, "schedule"));
}

std::string describe_all(const Explored& explored, uint32_t preemptions) {
  std::string some =
      fmt::format("{} with up to {}", count_of(explored.schedules, "schedule"), count_of(preemptions, "preemption"));
  switch (explored.end) {
    case Explored::End::all:
      return "all " + some;
    case Explored::End::limit:
      return fmt::format("the first {} (there are more: --schedules)", some);
    case Explored::End::time:
      return some + " until time was up";
    default:
      return some;
  }
}

std::string describe_unrepeated(const Explored& explored) {
  const std::string& why = explored.last.record.not_replayable_because;
  return fmt::format("stopped after {}: the program does not do the same again{}",
                     count_of(explored.schedules, "schedule"), why.empty() ? "" : " (" + why + ")");
}

}  // namespace fb::launcher
