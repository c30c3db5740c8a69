#pragma once

// What host threads do while they are not in the machine: compute, wait for each other, sleep, or spin on memory.
// Virtual time may move only when none of them can still send a request by itself; the system knows (/proc).

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fb::machine {

enum class Activity : uint8_t {
  runs,    // or is about to: wait for it
  spins,   // has computed for so long that it can only be waiting for memory to change
  sleeps,  // until some time; counts as running for a while
  waits,   // in a system call, for another thread or process
  gone,
};

class HostWatch {
 public:
  // `expect_spinning`: the program waits by spinning from the start (MPI), so little processor time is enough.
  explicit HostWatch(bool expect_spinning) : expect_spinning_(expect_spinning) {}

  // Of all threads of a process but those in `inside` (sorted thread ids: they wait in the machine): the busiest
  // activity. `polls_memory`: the process has memory that devices can write, so that spinning is likely.
  Activity look(int32_t pid, const std::vector<uint32_t>& inside, bool polls_memory);
  // A message between two ranks may be under way while both look asleep: the system delivers it from a thread of its
  // own when it is busy. False: one may be under way. Check threads that wait outside once more afterwards.
  bool delivery_is_idle();
  // … or keeps a small segment back until the one before it is acknowledged (Nagle's algorithm and delayed
  // acknowledgements: 40 ms). A look at the tables of all connections: a millisecond.
  bool has_unacknowledged_bytes();
  // In a system call, and not about to leave it.
  static bool is_blocked(int32_t pid, uint32_t thread);
  // Threads that a process has.
  static size_t count(int32_t pid);
  // The thread that calls itself `id`: a process may live in a namespace where numbers are others. `id` where that
  // can't be told.
  static uint32_t find_thread(int32_t pid, uint32_t id);
  // The thread has been answered: it computes from now on.
  void answered(int32_t pid, uint32_t thread);
  void forget(int32_t pid);

  // "rank's thread 123: futex" for reports: where a process's threads outside the machine wait.
  static std::string describe(int32_t pid, const std::vector<uint32_t>& inside);

 private:
  struct Thread {
    uint64_t cpu_at_answer = 0;  // nanoseconds
    uint64_t answered = 0;       // … of wall time
    bool known = false;
    bool spinner = false;  // has spun before: less processor time is enough
    uint32_t answers_since_spun = 0;
    bool sleeper = false;  // has slept for long before: less time is enough
    uint64_t asleep_since = 0, cpu_when_asleep = 0;
  };
  Activity look_at(int32_t pid, uint32_t thread, bool polls_memory);

  std::vector<int32_t> delivery_;  // the system's threads that deliver messages
  bool delivery_known_ = false;
  std::map<std::string, uint64_t> unacknowledged_;  // connection and bytes, as /proc writes them: since when
  std::map<std::pair<int32_t, uint32_t>, Thread> threads_;
  bool expect_spinning_;
};

}  // namespace fb::machine
