#include "common/base/processor_time.h"

#include <sys/resource.h>
#include <time.h>

namespace fb {
namespace {

double read_clock(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

double thread_seconds() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

double process_seconds(pid_t process) {
  clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
  if (process != 0 && clock_getcpuclockid(process, &clock) != 0) return 0;
  return read_clock(clock);
}

double reaped_seconds() {
  rusage usage{};
  if (getrusage(RUSAGE_CHILDREN, &usage) != 0) return 0;
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace fb
