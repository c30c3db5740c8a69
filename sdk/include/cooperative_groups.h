// Cooperative groups: block, tiles of a warp, coalesced threads, grid, cluster.
#ifndef _COOPERATIVE_GROUPS_H_
#define _COOPERATIVE_GROUPS_H_
#pragma GCC system_header
#include "fabricbench/language.h"

// For kernels; a host compiler finds nothing here, as in NVIDIA's.
#if defined(__CUDA__)
#include "fabricbench/groups/block.h"
#include "fabricbench/groups/cluster.h"
#include "fabricbench/groups/coalesced.h"
#include "fabricbench/groups/grid.h"
#include "fabricbench/groups/invoke.h"
#include "fabricbench/groups/tile.h"
#endif
#endif
