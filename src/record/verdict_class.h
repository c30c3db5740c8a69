#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fb::record {

enum class VerdictClass : uint8_t {
  pass,
  compile_error,   // also an answer without a solution in it
  rule_violation,  // forbidden calls, symbols, system calls
  wrong,           // other values than expected
  race,
  uninitialised,  // a read of memory that nothing has written
  deadlock,
  fault,        // of a kernel or a process
  budget,       // time, instructions or memory used up
  cheat,        // work after the return, malformed messages, times below the physical limit
  unsupported,  // ours to fix
  infra,        // ours; never the candidate's
};
std::string_view to_string(VerdictClass verdict);
std::optional<VerdictClass> verdict_class_from(std::string_view name);

}  // namespace fb::record
