// Forms that are known and that no function executes: a program which uses one is refused when it is lowered, with the
// instruction's line. A row moves out of this list when it gets a body.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simt/exec/exec_unsupported.cpp"
#include <hwy/foreach_target.h>

#include "simt/exec/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {

// Blocks that take over the work of blocks not yet launched.
FB_EXEC(clusterlaunchcontrol_try_cancel) { return nullptr; }
FB_EXEC(clusterlaunchcontrol_is_canceled) { return nullptr; }
FB_EXEC(clusterlaunchcontrol_first_ctaid) { return nullptr; }
FB_EXEC(clusterlaunchcontrol_first_ctaid_xyz) { return nullptr; }

// Matrix instructions of a warp group, and of tensor memory.
FB_EXEC(stmatrix_b8) { return nullptr; }
FB_EXEC(wgmma_fence) { return nullptr; }
FB_EXEC(wgmma_commit_group) { return nullptr; }
FB_EXEC(wgmma_wait_group) { return nullptr; }
FB_EXEC(wgmma_mma_async) { return nullptr; }
FB_EXEC(tcgen05_alloc) { return nullptr; }
FB_EXEC(tcgen05_dealloc) { return nullptr; }
FB_EXEC(tcgen05_relinquish_alloc_permit) { return nullptr; }
FB_EXEC(tcgen05_ld) { return nullptr; }
FB_EXEC(tcgen05_st) { return nullptr; }
FB_EXEC(tcgen05_wait_ld) { return nullptr; }
FB_EXEC(tcgen05_wait_st) { return nullptr; }
FB_EXEC(tcgen05_cp) { return nullptr; }
FB_EXEC(tcgen05_shift) { return nullptr; }
FB_EXEC(tcgen05_mma) { return nullptr; }
FB_EXEC(tcgen05_commit) { return nullptr; }
FB_EXEC(tcgen05_fence_before) { return nullptr; }
FB_EXEC(tcgen05_fence_after) { return nullptr; }

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
