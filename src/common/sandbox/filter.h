#pragma once

// Filters of system calls. Depends on no other layer.

#include <sys/types.h>

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

// As the kernel takes it. Ranks that are forked from one process share it: to make one takes longer than to load it.
struct CompiledFilter {
  std::vector<uint64_t> instructions = {};  // empty: none
};

// The filter for a process that has this id where it runs. Throws std::system_error.
CompiledFilter compile(Filter filter, pid_t self);

// Into all threads of this process, which may get no new privileges. Throws std::system_error.
void load(const CompiledFilter& filter);

// The table calls.def, for printing.
struct CallRow {
  const char *name, *rank, *machine, *build, *why;
};
std::span<const CallRow> call_table();

}  // namespace fb::sandbox
