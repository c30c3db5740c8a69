// Forms that are known and that no function executes: a program which uses one is refused when it is lowered, with the
// instruction's line. A row moves out of this list when it gets a body.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_unsupported.cpp"
#include <hwy/foreach_target.h>

#include "virtual_node/simt/exec/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {

// Blocks that take over the work of blocks not yet launched.
FB_EXEC(clusterlaunchcontrol_try_cancel) { return nullptr; }
FB_EXEC(clusterlaunchcontrol_is_canceled) { return nullptr; }
FB_EXEC(clusterlaunchcontrol_first_ctaid) { return nullptr; }
FB_EXEC(clusterlaunchcontrol_first_ctaid_xyz) { return nullptr; }

// Matrices of bytes.
FB_EXEC(stmatrix_b8) { return nullptr; }

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
