#pragma once

// Limits and a filter of system calls, for the calling process and all it starts. Needs nothing of ours, so that small
// programs can be made of it.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace fb::sandbox {

// Which system calls there are; calls.def says what each filter does with each call.
enum class Filter : uint8_t {
  none,
  rank,     // runs untrusted code: threads, memory, files, Unix sockets; no processes
  machine,  // serves ranks over sockets that it has already
  build,    // compilers and what they start
};
std::optional<Filter> filter_named(std::string_view name);

// 0: no limit. As root, the kernel does not limit processes.
struct Limits {
  uint64_t data_bytes = 0;  // private memory that can be written to
  uint64_t file_bytes = 0;  // of one file
  uint64_t cpu_seconds = 0;
  uint32_t processes = 0;  // and threads: of the user in this user namespace
  uint32_t open_files = 0;
};

// No core dumps, the limits, no new privileges by exec, and the filter for all threads of the process. A system call
// that the filter does not allow fails with an error, or ends the process with SIGSYS, which nothing can catch. Throws
// std::system_error.
void confine(const Limits& limits, Filter filter);

// The table, to be shown.
struct CallRow {
  const char *name, *rank, *machine, *build, *why;
};
std::span<const CallRow> call_table();

}  // namespace fb::sandbox
