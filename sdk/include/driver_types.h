// Types and enumerations of the runtime.
#pragma once
#include "fabricbench/runtime/device.h"
#include "fabricbench/runtime/driver_entry.h"
#include "fabricbench/runtime/errors.h"
#include "fabricbench/runtime/graph.h"
#include "fabricbench/runtime/handles.h"
#include "fabricbench/runtime/launch.h"
#include "fabricbench/runtime/memory.h"
#include "fabricbench/runtime/memory_async.h"
#include "fabricbench/runtime/stream.h"
