// What threads are about to wait for, told to the machine before they do.

#include "ranks/shim/verbs/notes.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "ranks/shim/verbs/call.h"
#include "ranks/shim/where/where.h"

namespace fb::shim::verbs {

thread_local uint32_t polls_to_skip = 0;

namespace {

// A thread that polls and finds nothing.
struct Streak {
  std::array<uint64_t, 8> told = {};  // queues whose line the machine knows
  size_t told_count = 0;
  // Polls that need not ask the machine, behind polls_to_skip; how many of them until the next look at the clock; and
  // when the machine said so.
  uint32_t in_vain = 0, chunk = 1;
  int64_t since = 0;
};
thread_local Streak streak;

// Not the library's function, which a virtual clock answers.
int64_t milliseconds() {
  timespec now{};
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

void note_wait(wire::VerbsWait wait, uint64_t id, uint32_t value, bool with_line) {
  wire::VerbsNote request{.wait = wait, .value = value, .id = id};
  if (with_line) line_of_call(nullptr, "infiniband/verbs.h", request.where);
  wire::Empty reply;
  ask<wire::Kind::verbs_note>(request, reply);
}

bool are_more_in_vain() {
  // A loop that sleeps between its polls must come to the machine all the same.
  constexpr uint32_t kOften = 1024;
  constexpr int64_t kLongest = 4;
  if (streak.in_vain == 0 || milliseconds() - streak.since > kLongest) return false;
  polls_to_skip = std::min(streak.chunk, streak.in_vain);
  streak.in_vain -= polls_to_skip;
  streak.chunk = std::min(streak.chunk * 2, kOften);
  return true;
}

void note_poll(uint64_t queue, const wire::VerbsPolled& polled) {
  if (polled.count != 0 || polled.error != 0) return forget_polls();
  streak.in_vain = polled.in_vain;
  streak.chunk = 1;
  polls_to_skip = polled.in_vain != 0 ? 1 : 0;
  if (polled.in_vain != 0) streak.since = milliseconds();
  // To find a line takes long, once in a process: only those that poll for long say where.
  if (polled.in_vain == 0 || streak.told_count == streak.told.size()) return;
  const auto end = streak.told.begin() + static_cast<std::ptrdiff_t>(streak.told_count);
  if (std::find(streak.told.begin(), end, queue) != end) return;
  streak.told[streak.told_count++] = queue;
  note_wait(wire::VerbsWait::poll, queue, 0, true);
}

void forget_polls() {
  streak = {};
  polls_to_skip = 0;
}

}  // namespace fb::shim::verbs
