// Stands in for the clocks and sleeps of the C library in ranks of `fabricbench exec --virtual-clock`: what the program
// itself reads is the virtual time of the node. It is loaded before all other libraries; our libcudart tells it where
// to ask for the time, and until then clocks are the host's.
//
// Libraries of the system (MPI, the C library itself) get the host's clocks as before: they wait for processes, not for
// the node.

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "ranks/shim/clock/cycle_counter.h"

#define FB_API extern "C" __attribute__((visibility("default")))

namespace {

using Now = uint64_t (*)();
using Sleep = bool (*)(uint64_t);
std::atomic<Now> now_of_node = nullptr;
std::atomic<Sleep> sleep_on_node = nullptr;

constexpr int64_t kSecond = 1'000'000'000;
// Every run begins at the same date, so that seeds from the clock repeat: 1 January 2026. Clocks that count from the
// start of the computer begin at a day.
constexpr int64_t kStartOfRealTime = 1'767'225'600, kStartOfMonotonic = 86'400;

// Asking the machine may take a lock or a time-out of the C library, whose clocks must not ask in turn.
thread_local bool asking = false;
class Asking {
 public:
  Asking() { asking = true; }
  ~Asking() { asking = false; }
};

// Whether a caller is the program's: the program, the C++ library that its std::chrono calls, or a library of its own.
bool is_of_program(const void* caller) {
  constexpr size_t kSlots = 256;
  static std::atomic<uintptr_t> known[kSlots];  // address, and the answer in the lowest bit of its double
  const auto address = reinterpret_cast<uintptr_t>(caller);
  std::atomic<uintptr_t>& slot = known[(address >> 2) % kSlots];
  const uintptr_t kept = slot.load(std::memory_order_relaxed);
  if (kept >> 1 == address) return kept & 1;
  Dl_info info;
  bool ours = true;
  if (::dladdr(caller, &info) != 0 && info.dli_fname) {
    const std::string_view file = info.dli_fname;
    const auto in = [&](std::string_view folder) { return file.starts_with(folder); };
    const bool of_system = in("/lib/") || in("/lib64/") || in("/usr/lib/") || in("/usr/lib64/") ||
                           file.find("libfabricbench_cuda") != std::string_view::npos;
    ours = !of_system || file.find("libstdc++") != std::string_view::npos;
  }
  slot.store(address << 1 | (ours ? 1 : 0), std::memory_order_relaxed);
  return ours;
}

bool is_virtual(const void* caller) {
  return !asking && now_of_node.load(std::memory_order_acquire) && is_of_program(caller);
}

int64_t node_nanoseconds() {
  const Asking guard;
  return static_cast<int64_t>(now_of_node.load(std::memory_order_acquire)());
}

int64_t start_of(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI:
      return kStartOfRealTime;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
      return kStartOfMonotonic;
    default:  // processor time of processes and threads: a host thread that waits spins
      return 0;
  }
}

timespec to_timespec(int64_t nanoseconds) { return {nanoseconds / kSecond, nanoseconds % kSecond}; }
int64_t to_nanoseconds(const timespec& t) { return t.tv_sec * kSecond + t.tv_nsec; }
timespec read_virtual(clockid_t clock) { return to_timespec(start_of(clock) * kSecond + node_nanoseconds()); }

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}
#define NEXT(name)                                            \
  ([] {                                                       \
    static const auto found = next<decltype(&::name)>(#name); \
    return found;                                             \
  }())

int real_clock(clockid_t clock, timespec* time) { return static_cast<int>(::syscall(SYS_clock_gettime, clock, time)); }

// A point of a virtual clock as a point of the host's, for waits for other threads, which take real time.
timespec to_host(clockid_t clock, const timespec& deadline) {
  timespec host;
  real_clock(clock, &host);
  const int64_t left = to_nanoseconds(deadline) - to_nanoseconds(read_virtual(clock));
  return to_timespec(to_nanoseconds(host) + (left > 0 ? left : 0));
}

bool sleep_virtually(int64_t nanoseconds) {
  const Asking guard;
  return sleep_on_node.load(std::memory_order_acquire)(static_cast<uint64_t>(nanoseconds > 0 ? nanoseconds : 0));
}

// A wait that has ended by its deadline has reached it on the virtual clock as well.
void reach(clockid_t clock, const timespec& deadline) {
  const int64_t left = to_nanoseconds(deadline) - to_nanoseconds(read_virtual(clock));
  if (left > 0) sleep_virtually(left);
}

bool is_valid(const timespec& t) { return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < kSecond; }

}  // namespace

FB_API void fabricbench_set_host_clock(Now now, Sleep sleep) {
  sleep_on_node.store(sleep, std::memory_order_release);
  now_of_node.store(now, std::memory_order_release);
}

// For the cycle counter (cycle_counter.cpp).
uint64_t fabricbench_cycles_of(const void* caller, uint64_t (*nanoseconds)(), bool& is_of_node) {
  is_of_node = is_virtual(caller);
  if (!is_of_node) return 0;
  const Asking guard;
  return static_cast<uint64_t>(kStartOfMonotonic * kSecond) + nanoseconds();
}

// Clocks

FB_API int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (clock < 0 || clock > CLOCK_TAI || !is_virtual(__builtin_return_address(0))) {
    const auto real = NEXT(clock_gettime);
    return real ? real(clock, time) : real_clock(clock, time);
  }
  *time = read_virtual(clock);
  return 0;
}

FB_API int gettimeofday(timeval* time, void* zone) noexcept {
  if (!is_virtual(__builtin_return_address(0))) {
    const auto real = NEXT(gettimeofday);
    return real(time, zone);
  }
  const timespec now = read_virtual(CLOCK_REALTIME);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

FB_API time_t time(time_t* into) noexcept {
  timespec now;
  if (is_virtual(__builtin_return_address(0))) {
    now = read_virtual(CLOCK_REALTIME);
  } else {
    real_clock(CLOCK_REALTIME, &now);
  }
  if (into) *into = now.tv_sec;
  return now.tv_sec;
}

FB_API int timespec_get(timespec* time, int base) noexcept {
  if (base != TIME_UTC || !is_virtual(__builtin_return_address(0))) {
    const auto real = NEXT(timespec_get);
    return real(time, base);
  }
  *time = read_virtual(CLOCK_REALTIME);
  return base;
}

FB_API clock_t clock() noexcept {
  if (!is_virtual(__builtin_return_address(0))) {
    const auto real = NEXT(clock);
    return real();
  }
  return node_nanoseconds() / (kSecond / CLOCKS_PER_SEC);
}

FB_API clock_t times(tms* into) noexcept {
  if (!is_virtual(__builtin_return_address(0))) {
    const auto real = NEXT(times);
    return real(into);
  }
  const clock_t ticks = node_nanoseconds() / (kSecond / ::sysconf(_SC_CLK_TCK));
  if (into) *into = {ticks, 0, 0, 0};
  return ticks;
}

// MPI's and OpenMP's clocks are those of the program, whatever they read inside.
FB_API double MPI_Wtime();
FB_API double MPI_Wtime() {
  if (is_virtual(__builtin_return_address(0))) return static_cast<double>(node_nanoseconds()) / kSecond;
  static const auto real = next<double (*)()>("MPI_Wtime");
  return real ? real() : 0;
}
FB_API double omp_get_wtime();
FB_API double omp_get_wtime() {
  if (is_virtual(__builtin_return_address(0))) return static_cast<double>(node_nanoseconds()) / kSecond;
  static const auto real = next<double (*)()>("omp_get_wtime");
  if (real) return real();
  timespec now;
  real_clock(CLOCK_MONOTONIC, &now);
  return static_cast<double>(to_nanoseconds(now)) / kSecond;
}

// Sleeps: the thread waits in the machine while virtual time passes.

FB_API int nanosleep(const timespec* time, timespec* left) {
  if (!time || !is_valid(*time) || !is_virtual(__builtin_return_address(0)) ||
      !sleep_virtually(to_nanoseconds(*time))) {
    const auto real = NEXT(nanosleep);
    return real(time, left);
  }
  if (left) *left = {};
  return 0;
}

FB_API int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  if (!time || !is_valid(*time) || !is_virtual(__builtin_return_address(0))) {
    const auto real = NEXT(clock_nanosleep);
    return real(clock, flags, time, left);
  }
  const bool absolute = (flags & TIMER_ABSTIME) != 0;
  const int64_t length = to_nanoseconds(*time) - (absolute ? to_nanoseconds(read_virtual(clock)) : 0);
  if (!sleep_virtually(length)) {
    const timespec relative = to_timespec(length > 0 ? length : 0);
    const auto real = NEXT(clock_nanosleep);
    return real(CLOCK_MONOTONIC, 0, &relative, left);
  }
  if (left && !absolute) *left = {};
  return 0;
}

FB_API int usleep(useconds_t microseconds) {
  if (!is_virtual(__builtin_return_address(0)) || !sleep_virtually(int64_t{microseconds} * 1000)) {
    const timespec real = to_timespec(int64_t{microseconds} * 1000);
    return static_cast<int>(::syscall(SYS_nanosleep, &real, nullptr));
  }
  return 0;
}

FB_API unsigned int sleep(unsigned int seconds) {
  if (!is_virtual(__builtin_return_address(0)) || !sleep_virtually(seconds * kSecond)) {
    const auto real = NEXT(sleep);
    return real(seconds);
  }
  return 0;
}

// Waits for other threads with a deadline that was computed from a virtual clock

FB_API int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* deadline) {
  const auto real = NEXT(pthread_cond_timedwait);
  if (!is_valid(*deadline) || !is_virtual(__builtin_return_address(0))) return real(condition, mutex, deadline);
  // The clock is an attribute of the condition that can't be read: the date tells which it was.
  const clockid_t clock = deadline->tv_sec >= kStartOfRealTime ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  const timespec host = to_host(clock, *deadline);
  const int result = real(condition, mutex, &host);
  if (result == ETIMEDOUT) reach(clock, *deadline);
  return result;
}

FB_API int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const timespec* deadline) {
  const auto real = NEXT(pthread_cond_clockwait);
  if (!is_valid(*deadline) || !is_virtual(__builtin_return_address(0))) return real(condition, mutex, clock, deadline);
  const timespec host = to_host(clock, *deadline);
  const int result = real(condition, mutex, clock, &host);
  if (result == ETIMEDOUT) reach(clock, *deadline);
  return result;
}

FB_API int sem_timedwait(sem_t* semaphore, const timespec* deadline) {
  const auto real = NEXT(sem_timedwait);
  if (!is_valid(*deadline) || !is_virtual(__builtin_return_address(0))) return real(semaphore, deadline);
  const timespec host = to_host(CLOCK_REALTIME, *deadline);
  const int result = real(semaphore, &host);
  if (result != 0 && errno == ETIMEDOUT) {
    reach(CLOCK_REALTIME, *deadline);
    errno = ETIMEDOUT;
  }
  return result;
}
