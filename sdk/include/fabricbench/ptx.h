// cuda::ptx: each function is the instruction that it is named after; tags stand for the modifiers. It has what the
// machine executes: no tcgen05, no tensormap.replace, no clusterlaunchcontrol.
#pragma once
#include "fabricbench/ptx/bulk.h"
#include "fabricbench/ptx/mbarrier.h"
#include "fabricbench/ptx/multimem.h"
#include "fabricbench/ptx/tags.h"
#include "fabricbench/ptx/thread.h"
