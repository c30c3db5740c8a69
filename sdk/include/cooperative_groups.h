// Cooperative groups: block, tiles of a warp, coalesced threads, grid, cluster.
#pragma once
#include "fabricbench/groups/block.h"
#include "fabricbench/groups/cluster.h"
#include "fabricbench/groups/coalesced.h"
#include "fabricbench/groups/grid.h"
#include "fabricbench/groups/tile.h"
