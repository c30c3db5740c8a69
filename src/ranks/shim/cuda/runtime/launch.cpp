#include <string>
#include <utility>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/modules/launch.h"

#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"

namespace shim = fb::shim;
using shim::record;

namespace {

cudaError_t start(const void* symbol, const shim::LaunchShape& shape, void** arguments, cudaStream_t stream) {
  const auto function = shim::find_kernel(symbol);
  if (!function) return function.error();
  return shim::launch(*function, const_cast<void*>(symbol), shape, stream, arguments, nullptr);
}

cudaError_t told(cudaError_t error, const void* symbol, const shim::LaunchShape& shape) {
  if (error == cudaSuccess) return record(error);
  const auto function = shim::find_kernel(symbol);
  return shim::record_launch(error, shim::launch_text(function.value_or(nullptr), shape),
                             function ? (*function)->name : std::string());
}

cudaError_t start_with_attributes(const cudaLaunchConfig_t* config, const void* symbol, void** arguments) {
  if (!config) return cudaErrorInvalidValue;
  shim::LaunchShape shape{.grid = config->gridDim, .block = config->blockDim, .shared_bytes = config->dynamicSmemBytes};
  const auto e = shim::read_attributes(config->attrs, config->numAttrs, shape);
  return e == cudaSuccess ? start(symbol, shape, arguments, config->stream) : e;
}

shim::Expected<shim::FunctionInfo> info_of(const shim::FunctionPtr& function) {
  auto info = function->info(shim::thread().device);
  if (!info && info.error() == cudaErrorSymbolNotFound) return shim::failure(cudaErrorInvalidDeviceFunction);
  return info;
}

cudaError_t attributes_of(cudaFuncAttributes* attributes, const void* symbol) {
  if (!attributes) return cudaErrorInvalidValue;
  const auto function = shim::find_kernel(symbol);
  if (!function) return function.error();
  const auto info = info_of(*function);
  if (!info) return info.error();
  const auto& facts = info->facts;
  *attributes = {};
  attributes->sharedSizeBytes = facts.static_shared_bytes;
  attributes->constSizeBytes = facts.constant_bytes;
  attributes->localSizeBytes = facts.local_bytes;
  attributes->maxThreadsPerBlock = static_cast<int>(facts.max_threads);
  attributes->numRegs = static_cast<int>(facts.registers);
  attributes->ptxVersion = static_cast<int>(facts.ptx_version);
  attributes->binaryVersion = static_cast<int>(facts.capability);
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(facts.max_dynamic_shared_bytes);
  attributes->preferredShmemCarveout = (*function)->preferred_carveout;
  attributes->clusterDimMustBeSet = facts.cluster[0] ? 1 : 0;
  attributes->requiredClusterWidth = static_cast<int>(facts.cluster[0]);
  attributes->requiredClusterHeight = static_cast<int>(facts.cluster[1]);
  attributes->requiredClusterDepth = static_cast<int>(facts.cluster[2]);
  attributes->clusterSchedulingPolicyPreference = (*function)->cluster_policy;
  attributes->nonPortableClusterSizeAllowed = (*function)->non_portable_cluster;
  return cudaSuccess;
}

cudaError_t param_info(const void* symbol, size_t index, size_t* offset, size_t* bytes) {
  const auto function = shim::find_kernel(symbol);
  if (!function) return function.error();
  const auto info = info_of(*function);
  if (!info) return info.error();
  if (!offset || index >= info->params.size()) return cudaErrorInvalidValue;
  *offset = info->params[index].first;
  if (bytes) *bytes = info->params[index].second;
  return cudaSuccess;
}

template <class Handle>
cudaError_t give_handle(Handle* into, const void* symbol) {
  if (!into) return cudaErrorInvalidValue;
  if (const auto e = shim::Session::get().connect(); e != cudaSuccess) return e;
  const auto handle = shim::kernel_handle(symbol);
  if (!handle) return handle.error();
  *into = reinterpret_cast<Handle>(*handle);
  return cudaSuccess;
}

}  // namespace

FB_API cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                                    cudaStream_t stream) {
  const shim::LaunchShape shape{.grid = grid, .block = block, .shared_bytes = shared_bytes};
  return told(start(function, shape, arguments, stream), function, shape);
}
// What nvcc makes of <<<>>>: the handle is asked for once, and kept.
// NOLINTBEGIN(bugprone-reserved-identifier)
FB_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* symbol);
FB_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* symbol) {
  return record(give_handle(kernel, symbol));
}
FB_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                                      cudaStream_t stream);
FB_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                                      cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}
// NOLINTEND(bugprone-reserved-identifier)
FB_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  const auto e = start_with_attributes(config, function, arguments);
  if (!config) return shim::record_launch(e, "the launch by cudaLaunchKernelEx without a configuration");
  return told(e, function,
              {.grid = config->gridDim, .block = config->blockDim, .shared_bytes = config->dynamicSmemBytes});
}
FB_API cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                               size_t shared_bytes, cudaStream_t stream) {
  const shim::LaunchShape shape{.grid = grid, .block = block, .shared_bytes = shared_bytes, .cooperative = true};
  return told(start(function, shape, arguments, stream), function, shape);
}

FB_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return record(attributes_of(attributes, function));
}
FB_API cudaError_t cudaFuncSetAttribute(const void* symbol, cudaFuncAttribute attribute, int value) {
  const auto function = shim::find_kernel(symbol);
  return record(function ? shim::set_function_attribute(*function, attribute, value) : function.error());
}
FB_API cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value,
                                                   int device) {
  if (const auto e = shim::check_device(device); e != cudaSuccess) return record(e);
  const auto function = shim::functions().find(reinterpret_cast<cudaFunction_t>(kernel));
  if (!function) return record(cudaErrorInvalidResourceHandle);
  const int before = std::exchange(shim::thread().device, device);
  const auto e = shim::set_function_attribute(function, attribute, value);
  shim::thread().device = before;
  return record(e);
}
FB_API cudaError_t cudaFuncSetCacheConfig(const void* symbol, cudaFuncCache config) {
  if (config < cudaFuncCachePreferNone || config > cudaFuncCachePreferEqual) return record(cudaErrorInvalidValue);
  const auto function = shim::find_kernel(symbol);
  return record(function ? cudaSuccess : function.error());
}
FB_API cudaError_t cudaFuncGetName(const char** name, const void* symbol) {
  if (!name) return record(cudaErrorInvalidValue);
  const auto function = shim::find_kernel(symbol);
  if (!function) return record(function.error());
  *name = (*function)->name.c_str();
  return cudaSuccess;
}
FB_API cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* bytes) {
  return record(param_info(function, index, offset, bytes));
}
FB_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  return record(give_handle(function, symbol));
}
FB_API cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* symbol) {
  return record(give_handle(kernel, symbol));
}
