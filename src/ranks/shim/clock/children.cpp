// Programs that a thread starts other than by fork() inherit that the cycle counter is forbidden to it, and can't
// answer the fault: while it starts one, the counter is allowed. The functions of the C library call each other by
// names of their own, so each of them stands here.

#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FB_API extern "C" __attribute__((visibility("default")))

namespace {

template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

#if defined(__x86_64__)
class CounterAllowed {
 public:
  CounterAllowed() {
    int state = PR_TSC_ENABLE;
    forbidden_ = prctl(PR_GET_TSC, &state) == 0 && state == PR_TSC_SIGSEGV;
    if (forbidden_) prctl(PR_SET_TSC, PR_TSC_ENABLE);
  }
  ~CounterAllowed() {
    if (forbidden_) prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
  }
  CounterAllowed(const CounterAllowed&) = delete;
  CounterAllowed& operator=(const CounterAllowed&) = delete;

 private:
  bool forbidden_ = false;
};
#else
struct CounterAllowed {
  CounterAllowed() {}
};
#endif

}  // namespace

FB_API int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                       const posix_spawnattr_t* attributes, char* const words[], char* const environment[]) {
  static auto* const real = next<decltype(posix_spawn)>("posix_spawn");
  const CounterAllowed allowed;
  return real(child, path, actions, attributes, words, environment);
}

FB_API int posix_spawnp(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
                        const posix_spawnattr_t* attributes, char* const words[], char* const environment[]) {
  static auto* const real = next<decltype(posix_spawnp)>("posix_spawnp");
  const CounterAllowed allowed;
  return real(child, file, actions, attributes, words, environment);
}

FB_API int system(const char* command) {
  static auto* const real = next<decltype(system)>("system");
  const CounterAllowed allowed;
  return real(command);
}

FB_API FILE* popen(const char* command, const char* mode) {
  static auto* const real = next<decltype(popen)>("popen");
  const CounterAllowed allowed;
  return real(command, mode);
}

// A function that returns twice can't stand before another. What a child of vfork() may do, one of fork() may as well,
// and fork() allows the counter.
FB_API pid_t vfork() noexcept { return fork(); }
