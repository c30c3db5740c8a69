#pragma once

// Limits and a system call filter for the calling process and its descendants. Depends on no other layer, so that small
// programs can use it.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace fb::sandbox {

// The filters; calls.def lists what each does with each system call.
enum class Filter : uint8_t {
  none,
  rank,     // runs untrusted code: threads, memory, files, Unix sockets; no processes
  machine,  // serves ranks over sockets that are already open
  build,    // compilers and their child processes
};
std::optional<Filter> filter_named(std::string_view name);

// 0: no limit. The kernel does not limit the processes of root.
struct Limits {
  uint64_t data_bytes = 0;  // private writable memory
  uint64_t file_bytes = 0;  // of one file
  uint64_t cpu_seconds = 0;
  uint32_t processes = 0;  // and threads: of the user in this user namespace
  uint32_t open_files = 0;
};

// As the kernel takes it. Ranks that are forked from one process share it: to make one takes longer than to load it.
struct CompiledFilter {
  std::vector<uint64_t> instructions = {};  // empty: none
};

// No core dumps, the limits, no new privileges by exec, and the filter for all threads of the process. A system call
// that the filter does not allow fails with an error, or ends the process with SIGSYS, which nothing can catch. Throws
// std::system_error.
void confine(const Limits& limits, Filter filter);
void confine(const Limits& limits, const CompiledFilter& filter);

// The table calls.def, for printing.
struct CallRow {
  const char *name, *rank, *machine, *build, *why;
};
std::span<const CallRow> call_table();

}  // namespace fb::sandbox
