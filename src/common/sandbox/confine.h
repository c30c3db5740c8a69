#pragma once

// Limits and a system call filter for the calling process and its descendants. Depends on no other layer, so that small
// programs can use it.

#include <cstdint>

#include "common/sandbox/filter.h"

namespace fb::sandbox {

// 0: no limit. The kernel does not limit the processes of root.
struct Limits {
  uint64_t data_bytes = 0;  // private writable memory
  uint64_t file_bytes = 0;  // of one file
  uint64_t cpu_seconds = 0;
  uint32_t processes = 0;  // and threads: of the user in this user namespace
  uint32_t open_files = 0;
};

// No core dumps, the limits, no new privileges by exec, and the filter for all threads of the process. A system call
// that the filter does not allow fails with an error, or ends the process with SIGSYS, which nothing can catch. Throws
// std::system_error.
void confine(const Limits& limits, Filter filter);
void confine(const Limits& limits, const CompiledFilter& filter);

}  // namespace fb::sandbox
