#pragma once

#include <sys/types.h>

#include <chrono>
#include <set>

namespace fb::launcher {

// How long a process and its living descendants have computed, or were ready to and had to wait for a processor; of
// each its first thread. Zero where it has gone.
std::chrono::nanoseconds busy_time(pid_t process);

// How long its first thread was ready to compute and had to wait for a processor.
std::chrono::nanoseconds delay_of(pid_t process);

// Busy time of all threads of this process.
std::chrono::nanoseconds own_busy_time();

// While it lives, orphans of this process's children become its children, however they tried to get away. ended by
// end_all(), or by the destructor. Children that were there before are left alone.
class Descendants {
 public:
  Descendants();
  ~Descendants();
  Descendants(const Descendants&) = delete;
  Descendants& operator=(const Descendants&) = delete;

  // Kills and reaps until there is none, or until it is hopeless (a process that cannot die).
  void end_all() const;

 private:
  std::set<pid_t> before_;
  int adopted_before_ = 0;
};

}  // namespace fb::launcher
