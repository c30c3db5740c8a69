#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "ranks/shim/cuda/core/error.h"
#include "ranks/shim/cuda/streams/work.h"

namespace fb::shim {

struct LaunchShape {
  dim3 grid, block;
  size_t shared_bytes = 0;
  unsigned int cluster[3] = {0, 0, 0};
  bool cooperative = false, programmatic = false;
  EventPtr after = nullptr;  // recorded behind the kernel
};

// Reads the attributes of a launch into `shape`. What has no effect on results is accepted and left out. The driver's
// CUlaunchAttribute has the same layout and numbers.
Error read_attributes(const cudaLaunchAttribute* attributes, unsigned int count, LaunchShape& shape);

// For reports. Null: the function is not known.
std::string launch_text(const FunctionPtr& function, const LaunchShape& shape);
// `arguments`: one pointer per parameter. `extra`: the driver API's other way (CU_LAUNCH_PARAM_…), used when
// `arguments` is null.
Expected<KernelWork> make_kernel(const FunctionPtr& function, void* symbol, int device, const LaunchShape& shape,
                                 void** arguments, void** extra);
Error launch(const FunctionPtr& function, void* symbol, const LaunchShape& shape, cudaStream_t stream, void** arguments,
             void** extra);

struct Occupancy {
  int blocks_per_multiprocessor = 0, clusters = 0, largest_cluster = 0;
};
// On the current device.
Expected<Occupancy> occupancy(const FunctionPtr& function, unsigned int threads, size_t shared_bytes,
                              const unsigned int cluster[3]);
Error set_function_attribute(const FunctionPtr& function, cudaFuncAttribute attribute, int value);

}  // namespace fb::shim
