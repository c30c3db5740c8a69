#include "virtual_node/machine/server/host_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "common/base/numbers.h"

namespace fb::machine {
namespace {

// Processor time after which a thread that computes is taken for one that spins: where it shares memory with devices,
// and where it does not (then it can only spin on what another thread or a callback writes).
constexpr uint64_t kSpinning = 100'000'000;
constexpr uint64_t kSpinningWithoutMemory = 400'000'000;
constexpr uint64_t kSpinningExpected = 1'000'000;
constexpr uint64_t kSpinningExpectedWall = 10'000'000;
constexpr uint64_t kSpinningAgain = 300'000;
// A thread that has come to the machine so often since it last spun may be one that once computed for long. What the
// system counts as its processor time has pauses of a virtual computer in it.
constexpr uint64_t kSpinningRarely = 10'000'000;
constexpr uint32_t kRarely = 16;
// How long to wait for a thread that sleeps by the clock; and for one that has slept so long before, because it waits
// by looking for something between short sleeps.
constexpr uint64_t kPatience = 100'000'000;
constexpr uint64_t kPatienceAgain = 3'000'000;
constexpr uint64_t kDozing = 4;  // sleeps for all but this part of its time
// Delayed acknowledgements come after at most 200 ms.
constexpr uint64_t kAcknowledged = 300'000'000;

uint64_t wall_nanoseconds() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// The first bytes of a small file of /proc; empty where it is gone.
template <size_t kBytes>
std::string_view read_small(const std::string& path, char (&buffer)[kBytes]) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t got = read(fd, buffer, sizeof buffer);
  close(fd);
  return {buffer, got > 0 ? static_cast<size_t>(got) : 0};
}

// R, S, D, Z, …; 0 where the thread is gone.
char state_of(int32_t pid, uint32_t thread) {
  char buffer[512];
  const std::string_view stat = read_small(fmt::format("/proc/{}/task/{}/stat", pid, thread), buffer);
  // "123 (name with ) in it) S …"
  const size_t end = stat.rfind(')');
  return end == std::string_view::npos || end + 2 >= stat.size() ? '\0' : stat[end + 2];
}

uint64_t cpu_of(int32_t pid, uint32_t thread) {
  char buffer[512];
  return leading_number<uint64_t>(read_small(fmt::format("/proc/{}/task/{}/schedstat", pid, thread), buffer));
}

// -1: none, or unknown; kIsAwake: none because the thread runs.
constexpr long kIsAwake = -2;
long system_call_of(int32_t pid, uint32_t thread) {
  char buffer[512];
  const std::string_view text = read_small(fmt::format("/proc/{}/task/{}/syscall", pid, thread), buffer);
  if (text.starts_with("running")) return kIsAwake;
  return text.empty() || text[0] < '0' || text[0] > '9' ? -1 : leading_number<long>(text);
}

std::vector<uint32_t> threads_of(int32_t pid) {
  std::vector<uint32_t> threads;
  DIR* folder = opendir(fmt::format("/proc/{}/task", pid).c_str());
  if (!folder) return threads;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] != '.') threads.push_back(leading_number<uint32_t>(entry->d_name));
  }
  closedir(folder);
  return threads;
}

// The process at the other end will read: not a wait for another rank.
bool writes(long call) { return call == SYS_write || call == SYS_writev; }

bool sleeps_by_the_clock(long call) { return call == SYS_nanosleep || call == SYS_clock_nanosleep; }

}  // namespace

Activity HostWatch::look(int32_t pid, const std::vector<uint32_t>& inside, bool polls_memory) {
  const auto threads = threads_of(pid);
  if (threads.empty()) return Activity::gone;
  Activity busiest = Activity::gone;
  for (const uint32_t thread : threads) {
    if (std::ranges::binary_search(inside, thread)) continue;
    const Activity a = look_at(pid, thread, polls_memory);
    busiest = std::min(busiest, a);
    if (busiest == Activity::runs) return busiest;
  }
  // All inside: nothing moves.
  return busiest == Activity::gone ? Activity::waits : busiest;
}

Activity HostWatch::look_at(int32_t pid, uint32_t id, bool polls_memory) {
  const char state = state_of(pid, id);
  if (state == '\0' || state == 'Z' || state == 'X') return Activity::gone;
  Thread& thread = threads_[{pid, id}];
  if (!thread.known) {
    thread.known = true;
    thread.cpu_at_answer = cpu_of(pid, id);
    thread.answered = wall_nanoseconds();
  }
  if (state == 'S' || state == 'T') {
    const long call = system_call_of(pid, id);
    if (writes(call) || call == kIsAwake) return Activity::runs;
    if (!sleeps_by_the_clock(call)) {
      thread.asleep_since = 0;
      return Activity::waits;
    }
    const uint64_t now = wall_nanoseconds();
    if (thread.asleep_since == 0) {
      thread.asleep_since = now;
      thread.cpu_when_asleep = cpu_of(pid, id);
    }
    if (now - thread.asleep_since <= (thread.sleeper ? kPatienceAgain : kPatience)) return Activity::runs;
    thread.sleeper = true;
    return Activity::sleeps;
  }
  const uint64_t cpu = cpu_of(pid, id), computed = cpu - thread.cpu_at_answer;
  // Awake for a moment between two sleeps, it still sleeps.
  const bool dozes =
      thread.asleep_since != 0 && (cpu - thread.cpu_when_asleep) * kDozing < wall_nanoseconds() - thread.asleep_since;
  if (!dozes) thread.asleep_since = 0;
  const uint64_t limit = thread.spinner     ? (thread.answers_since_spun < kRarely ? kSpinningAgain : kSpinningRarely)
                         : expect_spinning_ ? kSpinningExpected
                         : polls_memory     ? kSpinning
                                            : kSpinningWithoutMemory;
  // On a busy computer a thread that spins with sched_yield() gets so little time that counting it takes too long.
  const bool long_ago = expect_spinning_ && wall_nanoseconds() - thread.answered > kSpinningExpectedWall;
  if (computed < limit && !long_ago) return Activity::runs;
  thread.spinner = true;
  thread.answers_since_spun = 0;
  return Activity::spins;
}

bool HostWatch::delivery_is_idle() {
  if (!delivery_known_) {
    delivery_known_ = true;
    DIR* folder = opendir("/proc");
    while (const dirent* entry = folder ? readdir(folder) : nullptr) {
      char buffer[512];
      const auto pid = leading_number<int32_t>(entry->d_name);
      if (pid != 0 && read_small(fmt::format("/proc/{}/comm", pid), buffer).starts_with("ksoftirqd"))
        delivery_.push_back(pid);
    }
    if (folder) closedir(folder);
  }
  // In a container they can't be seen: time must do.
  if (delivery_.empty()) usleep(3000);
  return std::ranges::all_of(delivery_, [](int32_t pid) {
    const char state = state_of(pid, static_cast<uint32_t>(pid));
    return state != 'R';
  });
}

// Of connections on this computer. What stays unacknowledged for long has no reader: no message under way.
bool HostWatch::has_unacknowledged_bytes() {
  constexpr std::string_view kEstablished = "01", kNothing = "00000000:";
  std::map<std::string, uint64_t> found;
  const uint64_t now = wall_nanoseconds();
  for (const char* const path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream table(path);
    std::string line, slot, local, remote, state, queues;
    std::getline(table, line);  // the names of the columns
    while (std::getline(table, line)) {
      std::istringstream(line) >> slot >> local >> remote >> state >> queues;
      if (state != kEstablished || queues.starts_with(kNothing)) continue;
      // Ranks are on this computer.
      if (local.substr(0, local.find(':')) != remote.substr(0, remote.find(':'))) continue;
      std::string key = fmt::format("{} {} {}", local, remote, queues);
      const auto known = unacknowledged_.find(key);
      found.emplace(std::move(key), known == unacknowledged_.end() ? now : known->second);
    }
  }
  unacknowledged_ = std::move(found);
  return std::ranges::any_of(unacknowledged_, [&](const auto& u) { return now - u.second < kAcknowledged; });
}

bool HostWatch::is_blocked(int32_t pid, uint32_t thread) {
  const char state = state_of(pid, thread);
  return (state == 'S' || state == 'T') && system_call_of(pid, thread) != kIsAwake;
}

size_t HostWatch::count(int32_t pid) { return threads_of(pid).size(); }

uint32_t HostWatch::find_thread(int32_t pid, uint32_t id) {
  for (const uint32_t thread : threads_of(pid)) {
    char buffer[4096];
    // "NSpid:\t1234\t2": here, and in each namespace further in.
    std::string_view status = read_small(fmt::format("/proc/{}/task/{}/status", pid, thread), buffer);
    const size_t line = status.find("\nNSpid:");
    if (line == std::string_view::npos) continue;
    status = status.substr(line + 1, status.find('\n', line + 1) - line - 1);
    if (leading_number<uint32_t>(status.substr(status.find_last_of('\t') + 1)) == id) return thread;
  }
  return id;
}

void HostWatch::answered(int32_t pid, uint32_t id) {
  Thread& thread = threads_[{pid, id}];
  thread.known = true;
  thread.cpu_at_answer = cpu_of(pid, id);
  thread.answered = wall_nanoseconds();
  ++thread.answers_since_spun;
  thread.asleep_since = 0;
}

void HostWatch::forget(int32_t pid) {
  std::erase_if(threads_, [&](const auto& t) { return t.first.first == pid; });
}

std::string HostWatch::describe(int32_t pid, const std::vector<uint32_t>& inside) {
  std::string text;
  for (const uint32_t thread : threads_of(pid)) {
    if (std::ranges::binary_search(inside, thread)) continue;
    char buffer[512];
    std::string_view channel = read_small(fmt::format("/proc/{}/task/{}/wchan", pid, thread), buffer);
    const long call = system_call_of(pid, thread);
    const char* what = call == SYS_futex                                                  ? "a lock or condition"
                       : call == SYS_recvfrom || call == SYS_recvmsg || call == SYS_read  ? "a message (read, recv)"
                       : call == SYS_poll || call == SYS_epoll_wait || call == SYS_select ? "a message (poll)"
                       : call == SYS_accept || call == SYS_accept4                        ? "a connection (accept)"
                       : call == SYS_wait4 || call == SYS_waitid                          ? "a child process"
                       : sleeps_by_the_clock(call)                                        ? "time to pass (sleep)"
                                                                                          : nullptr;
    if (!text.empty()) text += "; ";
    text += what ? fmt::format("a thread waits outside CUDA for {}", what)
                 : fmt::format("a thread waits outside CUDA ({})", channel.empty() ? "unknown" : channel);
  }
  return text;
}

}  // namespace fb::machine
