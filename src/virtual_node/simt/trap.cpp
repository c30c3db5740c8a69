#include "virtual_node/simt/trap.h"

namespace fb::simt {

std::string_view to_string(TrapKind kind) {
  switch (kind) {
    case TrapKind::out_of_bounds:
      return "out_of_bounds";
    case TrapKind::misaligned:
      return "misaligned";
    case TrapKind::null_pointer:
      return "null_pointer";
    case TrapKind::use_after_free:
      return "use_after_free";
    case TrapKind::uninitialised:
      return "uninitialised";
    case TrapKind::guest_assert:
      return "assert";
    case TrapKind::guest_trap:
      return "trap";
    case TrapKind::sync_lane_missing:
      return "sync_lane_missing";
    case TrapKind::bad_barrier:
      return "bad_barrier";
    case TrapKind::bad_call:
      return "bad_call";
    case TrapKind::stack_overflow:
      return "stack_overflow";
    case TrapKind::invalid_operand:
      return "invalid_operand";
  }
  return "?";
}

}  // namespace fb::simt
