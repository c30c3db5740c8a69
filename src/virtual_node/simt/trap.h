#pragma once

// What a guest did wrong, thrown where it happens and caught in exactly one place (machine::Device).

#include <cstdint>
#include <string>
#include <string_view>

#include "virtual_node/simt/inst.h"

namespace fb::simt {

enum class TrapKind : uint8_t {
  out_of_bounds,
  misaligned,
  null_pointer,
  use_after_free,
  uninitialised,
  guest_assert,
  guest_trap,
  sync_lane_missing,  // a .sync mask names a lane that can't come
  bad_barrier,
  bad_call,
  stack_overflow,
  invalid_operand,  // a run-time value that the instruction does not allow
};

std::string_view to_string(TrapKind kind);

struct Trap {
  TrapKind kind{};
  std::string message;
  const Inst* inst = nullptr;
  uint32_t lane = 0;
  uint64_t address = 0;
  uint32_t bytes = 0;
};

}  // namespace fb::simt
