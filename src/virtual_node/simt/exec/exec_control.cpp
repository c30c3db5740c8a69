// Branches, calls, exits.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_control.cpp"
#include <hwy/foreach_target.h>

#include "virtual_node/simt/block.h"
#include "virtual_node/simt/calls/builtins.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/exec/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {

FB_EXEC(bra) {
  return [](Warp& w, const Inst& i) { return w.branch(i, w.exec, i.target); };
}

// One split per distinct target; the warp picks them up in order of their pc.
FB_EXEC(brx_idx) {
  return [](Warp& w, const Inst& i) -> const Inst* {
    const auto* index = w.src<uint32_t>(i.op[0]);
    const auto lane = static_cast<uint32_t>(std::countr_zero(w.exec));
    if (index[lane] >= i.aux) {
      w.trap(TrapKind::invalid_operand, i, lane, "brx.idx: index beyond the list of targets");
    }
    Mask same = 0;
    each_lane(w.exec, [&](uint32_t l) { same |= Mask{index[l] == index[lane]} << l; });
    return w.branch_indexed(i, same, index[lane]);
  };
}

FB_EXEC(call) {
  return [](Warp& w, const Inst& i) -> const Inst* { return w.call_site(i, static_cast<uint32_t>(i.imm)); };
}

FB_EXEC(ret) {
  return [](Warp& w, const Inst& i) { return w.return_from(i); };
}

FB_EXEC(exit) {
  return [](Warp& w, const Inst& i) { return w.exit_lanes(i); };
}

FB_EXEC(trap) {
  return [](Warp& w, const Inst& i) -> const Inst* {
    w.trap(TrapKind::guest_trap, i, static_cast<uint32_t>(std::countr_zero(w.exec)), "the kernel executed trap");
  };
}

FB_EXEC(brkpt) {
  return [](Warp& w, const Inst& i) -> const Inst* {
    w.trap(TrapKind::guest_trap, i, static_cast<uint32_t>(std::countr_zero(w.exec)), "the kernel executed brkpt");
  };
}

// Performance-monitor events have no observer here.
FB_EXEC(pmevent) {
  return [](Warp&, const Inst& i) { return &i + 1; };
}
FB_EXEC(pmevent_mask) {
  return [](Warp&, const Inst& i) { return &i + 1; };
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
