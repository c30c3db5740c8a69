// The driver API; for C as well.
#ifndef __cuda_cuda_h__
#define __cuda_cuda_h__
#pragma GCC system_header
#include <stdlib.h>

#include "fabricbench/driver/declared.h"
#include "fabricbench/driver/device.h"
#include "fabricbench/driver/graph.h"
#include "fabricbench/driver/launch.h"
#include "fabricbench/driver/memory.h"
#include "fabricbench/driver/module.h"
#include "fabricbench/driver/stream.h"
#include "fabricbench/driver/tensor_map.h"
#include "fabricbench/driver/types.h"
#include "fabricbench/driver/virtual_memory.h"
#endif
