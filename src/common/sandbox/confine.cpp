#include "common/sandbox/confine.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "common/sandbox/filter.h"

namespace fb::sandbox {
namespace {

void set_limit(__rlimit_resource which, uint64_t most, const char* name) {
  const rlimit limit{most, most};
  if (setrlimit(which, &limit) != 0) throw std::system_error(errno, std::generic_category(), name);
}

}  // namespace

void confine(const Limits& limits, Filter filter) { confine(limits, compile(filter, getpid())); }

void confine(const Limits& limits, const CompiledFilter& filter) {
  set_limit(RLIMIT_CORE, 0, "limit of core dumps");
  if (limits.data_bytes != 0) set_limit(RLIMIT_DATA, limits.data_bytes, "limit of memory");
  if (limits.file_bytes != 0) set_limit(RLIMIT_FSIZE, limits.file_bytes, "limit of file sizes");
  if (limits.cpu_seconds != 0) {
    // SIGXCPU at the soft limit names the cause; SIGKILL at the hard limit.
    const rlimit limit{limits.cpu_seconds, limits.cpu_seconds + 1};
    if (setrlimit(RLIMIT_CPU, &limit) != 0)
      throw std::system_error(errno, std::generic_category(), "limit of processor time");
  }
  if (limits.processes != 0) set_limit(RLIMIT_NPROC, limits.processes, "limit of processes");
  if (limits.open_files != 0) set_limit(RLIMIT_NOFILE, limits.open_files, "limit of open files");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    throw std::system_error(errno, std::generic_category(), "no new privileges");
  }
  load(filter);
}

}  // namespace fb::sandbox
