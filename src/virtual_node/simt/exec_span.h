#pragma once

#include "virtual_node/simt/inst.h"

namespace fb::simt {

// The instruction at the head of a span (virtual_node/simt/timing.h).
const Inst* exec_span(Warp& w, const Inst& i);

// In front of a write with release semantics: the wait for the warp's earlier accesses, an instruction of its own, so
// that warps with earlier clocks act before the write.
const Inst* exec_release(Warp& w, const Inst& i);

}  // namespace fb::simt
