#pragma once

// The memory order, scope and proxy of lowered instructions.

#include "ptx/memory_order.h"
#include "simt/inst.h"

namespace fb::simt {

using ptx::acquires;
using ptx::is_strong;
using ptx::MemoryOrder;
using ptx::Proxy;
using ptx::releases;
using ptx::Scope;

// Inst::aux of memory and synchronisation instructions.
inline constexpr uint16_t encode(MemoryOrder order, Scope scope) {
  return static_cast<uint16_t>(static_cast<uint16_t>(order) | static_cast<uint16_t>(scope) << 4);
}
inline MemoryOrder order_of(const Inst& i) { return static_cast<MemoryOrder>(i.aux & 15); }
inline Scope scope_of(const Inst& i) { return static_cast<Scope>(i.aux >> 4 & 15); }

}  // namespace fb::simt
