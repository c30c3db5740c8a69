#include "ranks/shim/cuda/modules/launch.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/streams/capture.h"
#include "ranks/shim/cuda/streams/submit.h"
#include "ranks/shim/where/where.h"

namespace fb::shim {
namespace {

// The words of the driver API's `extra`.
const auto kEnd = reinterpret_cast<void*>(0);
const auto kBufferPointer = reinterpret_cast<void*>(1);
const auto kBufferSize = reinterpret_cast<void*>(2);

Error check_shape(const LaunchShape& shape, const wire::DeviceFacts& device) {
  const auto& [grid, block] = std::pair(shape.grid, shape.block);
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0)
    return cudaErrorInvalidConfiguration;
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) return cudaErrorInvalidConfiguration;
  if (block.x > 1024 || block.y > 1024 || block.z > 64) return cudaErrorInvalidConfiguration;
  if (block.x * block.y * block.z > device.threads_per_block) return cudaErrorInvalidConfiguration;
  return cudaSuccess;
}

// More than eight blocks in a cluster need the function's word for it.
Error check_cluster(const LaunchShape& shape, const Function& function, const wire::DeviceFacts& device) {
  constexpr uint64_t kPortable = 8;
  const unsigned int grid[3] = {shape.grid.x, shape.grid.y, shape.grid.z};
  uint64_t blocks = 1;
  for (int k = 0; k < 3; ++k) {
    if (shape.cluster[k] == 0) return cudaSuccess;  // none
    if (grid[k] % shape.cluster[k] != 0) return cudaErrorInvalidClusterSize;
    blocks *= shape.cluster[k];
  }
  const uint64_t most = function.non_portable_cluster ? device.blocks_per_cluster : kPortable;
  return blocks > most ? cudaErrorInvalidClusterSize : cudaSuccess;
}

Error read_extra(void** extra, std::vector<std::byte>& params) {
  const void* buffer = nullptr;
  size_t bytes = 0;
  for (size_t at = 0; extra[at] != kEnd; at += 2) {
    if (extra[at] == kBufferPointer) {
      buffer = extra[at + 1];
    } else if (extra[at] == kBufferSize) {
      bytes = *static_cast<const size_t*>(extra[at + 1]);
    } else {
      return cudaErrorInvalidValue;
    }
  }
  if (bytes > 0 && !buffer) return cudaErrorInvalidValue;
  std::memcpy(params.data(), buffer, std::min(bytes, params.size()));
  return cudaSuccess;
}

}  // namespace

Error read_attributes(const cudaLaunchAttribute* attributes, unsigned int count, LaunchShape& shape) {
  if (count > 0 && !attributes) return cudaErrorInvalidValue;
  for (unsigned int k = 0; k < count; ++k) {
    const auto& value = attributes[k].val;
    switch (attributes[k].id) {
      case cudaLaunchAttributeCooperative:
        shape.cooperative = value.cooperative != 0;
        break;
      case cudaLaunchAttributeClusterDimension:
        shape.cluster[0] = value.clusterDim.x;
        shape.cluster[1] = value.clusterDim.y;
        shape.cluster[2] = value.clusterDim.z;
        if (!value.clusterDim.x || !value.clusterDim.y || !value.clusterDim.z) return cudaErrorInvalidValue;
        break;
      case cudaLaunchAttributeProgrammaticStreamSerialization:
        shape.programmatic = value.programmaticStreamSerializationAllowed != 0;
        break;
      case cudaLaunchAttributeProgrammaticEvent:
      case cudaLaunchAttributeLaunchCompletionEvent: {
        // Recorded later than it could be, which promises no less.
        const auto event = find_event(value.programmaticEvent.event);
        if (!event) return event.error();
        shape.after = *event;
        break;
      }
      default:
        if (const int id = attributes[k].id; id < 0 || id > 32) return cudaErrorInvalidValue;
        break;
    }
  }
  return cudaSuccess;
}

std::string launch_text(const FunctionPtr& function, const LaunchShape& shape) {
  const std::string name = function ? function->name : "that is not registered";
  int failed = 0;
  char* const plain = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &failed);
  const std::string text = failed == 0 ? plain : name;
  std::free(plain);
  const auto three = [](const dim3& d) {
    return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
  };
  return "the launch of kernel " + text + " with a grid of " + three(shape.grid) + ", blocks of " + three(shape.block) +
         " threads and " + std::to_string(shape.shared_bytes) + " bytes of dynamic shared memory";
}

Expected<KernelWork> make_kernel(const FunctionPtr& function, void* symbol, int device, const LaunchShape& shape,
                                 void** arguments, void** extra) {
  if (const Error e = check_device(device); e != cudaSuccess) return failure(e);
  if (const Error e = check_shape(shape, Session::get().device(device)); e != cudaSuccess) return failure(e);
  if (const Error e = check_cluster(shape, *function, Session::get().device(device)); e != cudaSuccess)
    return failure(e);
  const auto info = function->info(device);
  if (!info) return failure(info.error() == cudaErrorSymbolNotFound ? cudaErrorInvalidDeviceFunction : info.error());

  KernelWork work;
  work.function = function;
  work.symbol = symbol;
  work.device = device;
  work.grid = shape.grid;
  work.block = shape.block;
  std::ranges::copy(shape.cluster, work.cluster);
  work.shared_bytes = shape.shared_bytes;
  if (Session::get().launch_lines()) {
    char line[wire::kLongestLaunchLine] = {};
    line_of_launch(function->name, line);
    work.where = line;
  }
  work.flags = (shape.cooperative ? wire::kCooperative : 0u) | (shape.programmatic ? wire::kProgrammatic : 0u);
  work.params.resize(info->facts.param_bytes);
  if (arguments) {
    for (size_t k = 0; k < info->params.size(); ++k) {
      const auto [offset, bytes] = info->params[k];
      if (!arguments[k] || offset + bytes > work.params.size()) return failure(cudaErrorInvalidValue);
      std::memcpy(work.params.data() + offset, arguments[k], bytes);
    }
  } else if (extra) {
    if (const Error e = read_extra(extra, work.params); e != cudaSuccess) return failure(e);
  } else if (!info->params.empty()) {
    return failure(cudaErrorInvalidValue);
  }
  return work;
}

Error launch(const FunctionPtr& function, void* symbol, const LaunchShape& shape, cudaStream_t handle, void** arguments,
             void** extra) {
  const auto stream = find_stream(handle);
  if (!stream) return stream.error();
  // Copies may go to any stream, kernels only to those of the current device.
  if ((*stream)->device != thread().device) return cudaErrorInvalidResourceHandle;
  auto work = make_kernel(function, symbol, (*stream)->device, shape, arguments, extra);
  if (!work) return work.error();
  const Error e = submit(**stream, std::move(*work));
  if (e != cudaSuccess || !shape.after) return e;
  shape.after->recorded = true;
  return submit(**stream, EventWork{.event = shape.after, .record = true});
}

Expected<Occupancy> occupancy(const FunctionPtr& function, unsigned int threads, size_t shared_bytes,
                              const unsigned int cluster[3]) {
  const int device = thread().device;
  const auto info = function->info(device);
  if (!info) return failure(info.error() == cudaErrorSymbolNotFound ? cudaErrorInvalidDeviceFunction : info.error());
  wire::Occupancy request;
  request.function = info->facts.function;
  request.device = static_cast<uint32_t>(device);
  request.threads_per_block = threads;
  request.dynamic_shared_bytes = shared_bytes;
  std::copy_n(cluster, 3, request.cluster);
  wire::OccupancyFacts facts;
  if (const Error e = call<wire::Kind::occupancy>(request, &facts); e != cudaSuccess) return failure(e);
  return Occupancy{.blocks_per_multiprocessor = static_cast<int>(facts.blocks_per_multiprocessor),
                   .clusters = static_cast<int>(facts.clusters),
                   .largest_cluster = static_cast<int>(facts.largest_cluster)};
}

Error set_function_attribute(const FunctionPtr& function, cudaFuncAttribute attribute, int value) {
  const int device = thread().device;
  const auto info = function->info(device);
  if (!info) return info.error() == cudaErrorSymbolNotFound ? cudaErrorInvalidDeviceFunction : info.error();
  wire::FunctionSet request;
  request.function = info->facts.function;
  request.device = static_cast<uint32_t>(device);
  request.value = value;
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      request.attribute = wire::FunctionAttribute::max_dynamic_shared_bytes;
      if (value < 0) return cudaErrorInvalidValue;
      break;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      request.attribute = wire::FunctionAttribute::non_portable_cluster;
      function->non_portable_cluster = value;
      break;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      if (value < -1 || value > 100) return cudaErrorInvalidValue;
      function->preferred_carveout = value;
      return cudaSuccess;
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
      function->cluster_policy = value;
      return cudaSuccess;
    case cudaFuncAttributeClusterDimMustBeSet:
    case cudaFuncAttributeRequiredClusterWidth:
    case cudaFuncAttributeRequiredClusterHeight:
    case cudaFuncAttributeRequiredClusterDepth:
      return value == 0 ? cudaSuccess : cudaErrorNotSupported;
    default:
      return cudaErrorInvalidValue;
  }
  const Error e = call<wire::Kind::function_set>(request);
  if (e == cudaSuccess && attribute == cudaFuncAttributeMaxDynamicSharedMemorySize)
    function->module->set_dynamic_shared(function->name, device, static_cast<uint32_t>(value));
  return e;
}

}  // namespace fb::shim
