#pragma once

// Rows overlap either not at all or exactly, so that the iterations of a lane loop never depend on each other.
#if defined(__clang__)
#define FB_LANE_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define FB_LANE_LOOP _Pragma("GCC ivdep")
#endif
