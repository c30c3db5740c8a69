// Types and enumerations of the runtime, and its functions, which stand beside them.
#ifndef __DRIVER_TYPES_H__
#define __DRIVER_TYPES_H__
#pragma GCC system_header
#include <limits.h>
#include <stddef.h>

#include "device_types.h"
#include "surface_types.h"
#include "texture_types.h"
#include "vector_types.h"
//
#include "fabricbench/runtime/declared.h"
#include "fabricbench/runtime/device.h"
#include "fabricbench/runtime/driver_entry.h"
#include "fabricbench/runtime/errors.h"
#include "fabricbench/runtime/graph.h"
#include "fabricbench/runtime/handles.h"
#include "fabricbench/runtime/launch.h"
#include "fabricbench/runtime/memory.h"
#include "fabricbench/runtime/memory_async.h"
#include "fabricbench/runtime/stream.h"
#endif
