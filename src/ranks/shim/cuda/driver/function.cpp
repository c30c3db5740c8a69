// Functions and kernels: their attributes, launches, occupancy.

#include <algorithm>
#include <string>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/driver/driver.h"
#include "ranks/shim/cuda/modules/launch.h"
#include "ranks/shim/cuda/modules/module.h"

using namespace fb::shim;

namespace {

CUfunction function_of(CUkernel kernel) { return reinterpret_cast<CUfunction>(kernel); }
void* symbol_of(CUfunction function) { return reinterpret_cast<void*>(function); }

// A program that mixes the APIs may give the host-side address of its own kernel.
Expected<FunctionPtr> find_handle(CUfunction function) {
  if (!function) return failure(cudaErrorInvalidResourceHandle);
  const auto found = find_kernel(symbol_of(function));
  if (!found && found.error() == cudaErrorInvalidDeviceFunction) return failure(cudaErrorInvalidResourceHandle);
  return found;
}

Error read_attribute(int* value, CUfunction_attribute attribute, CUfunction handle, int device) {
  if (!value) return cudaErrorInvalidValue;
  const auto function = find_handle(handle);
  if (!function) return function.error();
  const auto info = (*function)->info(device);
  if (!info) return info.error();
  const auto& facts = info->facts;
  const auto give = [&](uint32_t number) {
    *value = static_cast<int>(number);
    return cudaSuccess;
  };
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return give(facts.max_threads);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return give(facts.static_shared_bytes);
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      return give(facts.constant_bytes);
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return give(facts.local_bytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return give(facts.registers);
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      return give(facts.ptx_version);
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return give(facts.capability);
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      return give(0);
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return give(facts.max_dynamic_shared_bytes);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = (*function)->preferred_carveout;
      return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      return give(facts.cluster[0] != 0);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
      return give(facts.cluster[0]);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
      return give(facts.cluster[1]);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      return give(facts.cluster[2]);
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      *value = (*function)->non_portable_cluster;
      return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      *value = (*function)->cluster_policy;
      return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_MAX:
      break;
  }
  return cudaErrorInvalidValue;
}

Error write_attribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  const auto function = find_handle(handle);
  return function ? set_function_attribute(*function, static_cast<cudaFuncAttribute>(attribute), value)
                  : function.error();
}

Error read_param(CUfunction handle, size_t index, size_t* offset, size_t* bytes) {
  if (!offset) return cudaErrorInvalidValue;
  const auto function = find_handle(handle);
  if (!function) return function.error();
  const auto info = (*function)->info(thread().device);
  if (!info) return info.error();
  if (index >= info->params.size()) return cudaErrorInvalidValue;
  *offset = info->params[index].first;
  if (bytes) *bytes = info->params[index].second;
  return cudaSuccess;
}

Error read_name(const char** name, CUfunction handle) {
  if (!name) return cudaErrorInvalidValue;
  const auto function = find_handle(handle);
  if (!function) return function.error();
  *name = (*function)->name.c_str();
  return cudaSuccess;
}

Error launch(CUfunction handle, const LaunchShape& shape, CUstream stream, void** arguments, void** extra) {
  const auto function = find_handle(handle);
  Error e = function ? cudaSuccess : function.error();
  if (function && arguments && extra) e = cudaErrorInvalidValue;
  if (e == cudaSuccess) e = fb::shim::launch(*function, symbol_of(handle), shape, stream, arguments, extra);
  if (e == cudaSuccess) return e;
  return tell_launch(e, launch_text(function.value_or(nullptr), shape), function ? (*function)->name : std::string());
}

// A launch: in_context(), whose own errors are failures of the launch as well.
template <class Body>
CUresult launched(const char* function, Body body) {
  if (const Error e = require_context(); e != cudaSuccess)
    return to_result(tell_launch(e, std::string("the launch by ") + function));
  return to_result(body());
}

Expected<LaunchShape> shape_of(const CUlaunchConfig* config) {
  if (!config) return failure(cudaErrorInvalidValue);
  LaunchShape shape;
  shape.grid = {config->gridDimX, config->gridDimY, config->gridDimZ};
  shape.block = {config->blockDimX, config->blockDimY, config->blockDimZ};
  shape.shared_bytes = config->sharedMemBytes;
  static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute));
  const auto* attributes = reinterpret_cast<const cudaLaunchAttribute*>(config->attrs);
  if (const Error e = read_attributes(attributes, config->numAttrs, shape); e != cudaSuccess) return failure(e);
  return shape;
}

Expected<Occupancy> occupancy_of(CUfunction handle, const CUlaunchConfig* config) {
  const auto function = find_handle(handle);
  if (!function) return failure(function.error());
  const auto shape = shape_of(config);
  if (!shape) return failure(shape.error());
  return occupancy(*function, shape->block.x * shape->block.y * shape->block.z, shape->shared_bytes, shape->cluster);
}

}  // namespace

// Attributes

FB_API CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  return in_context([&] { return read_attribute(value, attribute, function, thread().device); });
}

FB_API CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return in_context([&] { return write_attribute(function, attribute, value); });
}

FB_API CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
  return in_context([&] {
    const auto found = find_handle(function);
    return found ? cudaSuccess : found.error();
  });
}

FB_API CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig) {
  return cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_NONE);
}

FB_API CUresult cuFuncGetName(const char** name, CUfunction function) {
  return in_context([&] { return read_name(name, function); });
}

FB_API CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  return in_context([&] { return read_param(function, index, offset, bytes); });
}

FB_API CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  return in_context([&] {
    if (!state) return cudaErrorInvalidValue;
    const auto found = find_handle(function);
    if (!found) return found.error();
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return cudaSuccess;
  });
}

FB_API CUresult cuFuncLoad(CUfunction function) { return cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_NONE); }

FB_API CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return in_context([&] {
    if (!function) return cudaErrorInvalidValue;
    if (const auto found = find_handle(function_of(kernel)); !found) return found.error();
    *function = function_of(kernel);
    return cudaSuccess;
  });
}

FB_API CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return with_init([&] { return read_name(name, function_of(kernel)); });
}

FB_API CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device) {
  return with_init([&] {
    if (const Error e = check_device(device); e != cudaSuccess) return e;
    return read_attribute(value, attribute, function_of(kernel), device);
  });
}

FB_API CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device) {
  return with_init([&] {
    if (const Error e = check_device(device); e != cudaSuccess) return e;
    const OnDevice there(device);
    return write_attribute(function_of(kernel), attribute, value);
  });
}

FB_API CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache, CUdevice device) {
  return with_init([&] {
    if (const Error e = check_device(device); e != cudaSuccess) return e;
    const auto found = find_handle(function_of(kernel));
    return found ? cudaSuccess : found.error();
  });
}

FB_API CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes) {
  return with_init([&] { return read_param(function_of(kernel), index, offset, bytes); });
}

// Launches

FB_API CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                               unsigned int block_x, unsigned int block_y, unsigned int block_z,
                               unsigned int shared_bytes, CUstream stream, void** arguments, void** extra) {
  return launched("cuLaunchKernel", [&] {
    LaunchShape shape;
    shape.grid = {grid_x, grid_y, grid_z};
    shape.block = {block_x, block_y, block_z};
    shape.shared_bytes = shared_bytes;
    return launch(function, shape, stream, arguments, extra);
  });
}

FB_API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                          unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                          unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                                          void** arguments) {
  return launched("cuLaunchCooperativeKernel", [&] {
    LaunchShape shape;
    shape.grid = {grid_x, grid_y, grid_z};
    shape.block = {block_x, block_y, block_z};
    shape.shared_bytes = shared_bytes;
    shape.cooperative = true;
    return launch(function, shape, stream, arguments, nullptr);
  });
}

FB_API CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra) {
  return launched("cuLaunchKernelEx", [&] {
    const auto shape = shape_of(config);
    return shape ? launch(function, *shape, config->hStream, arguments, extra)
                 : tell_launch(shape.error(), "the launch by cuLaunchKernelEx");
  });
}

// Occupancy

FB_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int block_size,
                                                            size_t shared_bytes) {
  return in_context([&] {
    if (!blocks || block_size <= 0) return cudaErrorInvalidValue;
    const auto found = find_handle(function);
    if (!found) return found.error();
    const unsigned int none[3] = {0, 0, 0};
    const auto fits = occupancy(*found, static_cast<unsigned int>(block_size), shared_bytes, none);
    if (fits) *blocks = fits->blocks_per_multiprocessor;
    return fits ? cudaSuccess : fits.error();
  });
}

FB_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int block_size,
                                                                     size_t shared_bytes, unsigned int flags) {
  if (flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) return CUDA_ERROR_INVALID_VALUE;
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared_bytes);
}

FB_API CUresult cuOccupancyMaxPotentialBlockSize(int* grid_size, int* block_size, CUfunction function,
                                                 CUoccupancyB2DSize shared_of_block, size_t shared_bytes, int limit) {
  return in_context([&]() -> Error {
    if (!grid_size || !block_size) return cudaErrorInvalidValue;
    int most = 0;
    if (const Error e = read_attribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function, thread().device);
        e != cudaSuccess)
      return e;
    if (limit > 0) most = std::min(most, limit);
    const auto multiprocessors = static_cast<int>(Session::get().device(thread().device).multiprocessors);
    int best = 0;
    *grid_size = *block_size = 0;
    // Largest first: of equal ones the larger block wins.
    for (int size = most; size > 0; size -= size % 32 == 0 ? 32 : size % 32) {
      int blocks = 0;
      const size_t bytes = shared_of_block ? shared_of_block(size) : shared_bytes;
      const CUresult result = cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, size, bytes);
      if (result != CUDA_SUCCESS) return static_cast<Error>(result);
      if (blocks * size <= best) continue;
      best = blocks * size;
      *grid_size = blocks * multiprocessors;
      *block_size = size;
    }
    return cudaSuccess;
  });
}

FB_API CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid_size, int* block_size, CUfunction function,
                                                          CUoccupancyB2DSize shared_of_block, size_t shared_bytes,
                                                          int limit, unsigned int flags) {
  if (flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) return CUDA_ERROR_INVALID_VALUE;
  return cuOccupancyMaxPotentialBlockSize(grid_size, block_size, function, shared_of_block, shared_bytes, limit);
}

FB_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function, int blocks,
                                                        int block_size) {
  return in_context([&] {
    return as_runtime(
        [&] { return cudaOccupancyAvailableDynamicSMemPerBlock(bytes, symbol_of(function), blocks, block_size); });
  });
}

FB_API CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction function, const CUlaunchConfig* config) {
  return in_context([&] {
    if (!size) return cudaErrorInvalidValue;
    const auto fits = occupancy_of(function, config);
    if (fits) *size = fits->largest_cluster;
    return fits ? cudaSuccess : fits.error();
  });
}

FB_API CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config) {
  return in_context([&] {
    if (!clusters) return cudaErrorInvalidValue;
    const auto fits = occupancy_of(function, config);
    if (fits) *clusters = fits->clusters;
    return fits ? cudaSuccess : fits.error();
  });
}
