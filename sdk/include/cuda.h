// The driver API: what communication code calls of it.
#pragma once
#include "fabricbench/driver/device.h"
#include "fabricbench/driver/graph.h"
#include "fabricbench/driver/launch.h"
#include "fabricbench/driver/memory.h"
#include "fabricbench/driver/module.h"
#include "fabricbench/driver/stream.h"
#include "fabricbench/driver/tensor_map.h"
#include "fabricbench/driver/types.h"
#include "fabricbench/driver/virtual_memory.h"
