#pragma once

#include "virtual_node/simt/inst.h"

namespace fb::simt {

// The instruction at the head of a span (virtual_node/simt/timing.h).
const Inst* exec_span(Warp& w, const Inst& i);

}  // namespace fb::simt
