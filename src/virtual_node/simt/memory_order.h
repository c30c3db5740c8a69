#pragma once

// The memory order, scope and proxy of lowered instructions.

#include "common/ptx/memory_order.h"
#include "virtual_node/simt/inst.h"

namespace fb::simt {

using ptx::acquires;
using ptx::is_strong;
using ptx::MemoryOrder;
using ptx::Proxy;
using ptx::releases;
using ptx::Scope;

// Inst::aux of memory and synchronisation instructions. extends_sign: a load writes a signed type to a wider register.
inline constexpr uint16_t encode(MemoryOrder order, Scope scope, bool extends_sign = false) {
  return static_cast<uint16_t>(static_cast<uint16_t>(order) | static_cast<uint16_t>(scope) << 4 | extends_sign << 8);
}
inline MemoryOrder order_of(const Inst& i) { return static_cast<MemoryOrder>(i.aux & 15); }
inline Scope scope_of(const Inst& i) { return static_cast<Scope>(i.aux >> 4 & 15); }
inline bool extends_sign(const Inst& i) { return (i.aux >> 8 & 1) != 0; }

}  // namespace fb::simt
