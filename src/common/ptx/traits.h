#pragma once

// What an instruction does, from the last column of forms.def. Analyses of programs, race detection, deadlock reports
// and clocks ask here; a new row therefore answers all of them.

#include <cstddef>

#include "common/ptx/memory_order.h"
#include "common/ptx/module.h"

namespace fb::ptx {

struct Traits {
  bool computes = false;     // registers written are a function of registers read, possibly of other lanes of the warp
  bool accumulates = false;  // its first operand is read as well as written
  bool reads = false;        // memory at an [address] or behind a descriptor
  bool writes = false;       // memory at the first [address]
  bool reduces = false;      // its write is a read-modify-write whose old value is discarded
  bool no_access = false;    // its [address] is only named: no byte is read or written
  bool tensor_memory = false;  // its [address] is one of the tensor memory of tcgen05
  bool asynchronous = false;   // its accesses are performed after the instruction itself
  bool mbarrier = false;       // an [address] is an mbarrier
  bool signals = false;        // … which this arrives at, or completes bytes of
  bool waits_for_mbarrier = false;
  bool waits_for_copies = false;
  bool fences = false;
  bool jumps = false;  // control does not go on to the next instruction (unless it is guarded)
  bool ends_thread = false;
  bool scoped_order = false;  // an order must come with a scope, and a scope with an order

  MemoryOrder order = MemoryOrder::weak;  // where none is written
  Scope scope = Scope::none;              // where none is written
  Proxy proxy = Proxy::generic;           // of a fence: the other proxy

  friend constexpr Traits operator|(Traits a, const Traits& b) {
    a.computes |= b.computes;
    a.accumulates |= b.accumulates;
    a.reads |= b.reads;
    a.writes |= b.writes;
    a.reduces |= b.reduces;
    a.no_access |= b.no_access;
    a.tensor_memory |= b.tensor_memory;
    a.asynchronous |= b.asynchronous;
    a.mbarrier |= b.mbarrier;
    a.signals |= b.signals;
    a.waits_for_mbarrier |= b.waits_for_mbarrier;
    a.waits_for_copies |= b.waits_for_copies;
    a.fences |= b.fences;
    a.jumps |= b.jumps;
    a.ends_thread |= b.ends_thread;
    a.scoped_order |= b.scoped_order;
    if (b.order != MemoryOrder::weak) a.order = b.order;
    if (b.scope != Scope::none) a.scope = b.scope;
    if (b.proxy != Proxy::generic) a.proxy = b.proxy;
    return a;
  }
};

// The words of the column.
namespace trait_words {
inline constexpr Traits none{};  // control, barriers, hints: nothing that the words below say
inline constexpr Traits computes{.computes = true};
inline constexpr Traits accumulates{.accumulates = true};
inline constexpr Traits reads{.reads = true};
inline constexpr Traits writes{.writes = true};
inline constexpr Traits reduces{.reads = true, .writes = true, .reduces = true};
inline constexpr Traits no_access{.no_access = true};
inline constexpr Traits tensor_memory{.tensor_memory = true};
inline constexpr Traits asynchronous{.asynchronous = true};
inline constexpr Traits mbarrier{.mbarrier = true};
inline constexpr Traits signals{.mbarrier = true, .signals = true};
inline constexpr Traits waits_for_mbarrier{.mbarrier = true, .waits_for_mbarrier = true};
inline constexpr Traits waits_for_copies{.waits_for_copies = true};
inline constexpr Traits fences{.fences = true};
inline constexpr Traits jumps{.jumps = true};
inline constexpr Traits ends_thread{.jumps = true, .ends_thread = true};
inline constexpr Traits scoped_order{.scoped_order = true};
inline constexpr Traits default_relaxed{.order = MemoryOrder::relaxed};
inline constexpr Traits default_acquire{.order = MemoryOrder::acquire};
inline constexpr Traits default_release{.order = MemoryOrder::release};
inline constexpr Traits default_acq_rel{.order = MemoryOrder::acq_rel};
inline constexpr Traits default_sc{.order = MemoryOrder::sc};
inline constexpr Traits default_cta{.scope = Scope::cta};
inline constexpr Traits default_cluster{.scope = Scope::cluster};
inline constexpr Traits default_gpu{.scope = Scope::gpu};
inline constexpr Traits default_sys{.scope = Scope::sys};
inline constexpr Traits async_proxy{.proxy = Proxy::async};
inline constexpr Traits multimem_proxy{.proxy = Proxy::multimem};
inline constexpr Traits alias_proxy{.proxy = Proxy::alias};
inline constexpr Traits tensormap_proxy{.proxy = Proxy::tensormap};

inline constexpr Traits kOfForm[] = {
#define FORM(id, tier, syntax, traits) (traits),
#include "common/ptx/forms.def"
#undef FORM
};
}  // namespace trait_words

constexpr const Traits& traits(Form form) { return trait_words::kOfForm[static_cast<size_t>(form)]; }
inline const Traits& traits(const Instruction& instruction) { return traits(instruction.form); }

// As written, or the form's default.
MemoryOrder order_of(const Instruction& instruction);
Scope scope_of(const Instruction& instruction);

// False if nothing reads the value that memory had: a reduction, or an atomic whose destination is the sink `_`.
inline bool has_result(const Instruction& instruction) {
  if (traits(instruction).reduces) return false;
  return instruction.operands.empty() || instruction.operands[0].kind != OperandKind::sink;
}

}  // namespace fb::ptx
