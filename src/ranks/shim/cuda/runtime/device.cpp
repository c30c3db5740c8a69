#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/memory.h"
#include "ranks/shim/cuda/streams/stream.h"
#include "ranks/shim/cuda/streams/stream_calls.h"

namespace shim = fb::shim;
using shim::record;
using shim::Session;

namespace {

constexpr int kVersion = 13000;

// Of the whole process, by device: stored and returned, with no effect on results.
struct Settings {
  std::atomic<unsigned int> flags = cudaDeviceScheduleAuto;
  std::atomic<cudaFuncCache> cache = cudaFuncCachePreferNone;
  std::array<std::atomic<size_t>, 7> limits = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};
};
Settings& settings() {
  static auto* const all = new std::array<Settings, fb::wire::kMostDevices>;
  return (*all)[static_cast<size_t>(shim::thread().device)];
}

cudaError_t find_by_bus_id(int* device, const char* id) {
  if (!device || !id) return cudaErrorInvalidValue;
  if (const auto e = Session::get().connect(); e != cudaSuccess) return e;
  unsigned int domain = 0, bus = 0, slot = 0;
  if (std::sscanf(id, "%x:%x:%x", &domain, &bus, &slot) != 3) {
    domain = 0;
    if (std::sscanf(id, "%x:%x", &bus, &slot) != 2) return cudaErrorInvalidValue;
  }
  for (int k = 0; k < Session::get().device_count(); ++k) {
    const auto& facts = Session::get().device(k);
    if (facts.pci.domain != domain || facts.pci.bus != bus || facts.pci.device != slot) continue;
    *device = k;
    return cudaSuccess;
  }
  return cudaErrorInvalidDevice;
}

cudaError_t choose(int* device, const cudaDeviceProp* wanted) {
  if (!device || !wanted) return cudaErrorInvalidValue;
  if (const auto e = Session::get().connect(); e != cudaSuccess) return e;
  // All devices of a node are alike.
  *device = 0;
  return cudaSuccess;
}

}  // namespace

FB_API cudaError_t cudaGetDeviceCount(int* count) {
  if (!count) return record(cudaErrorInvalidValue);
  *count = 0;
  if (const auto e = Session::get().connect(); e != cudaSuccess) return record(e);
  *count = Session::get().device_count();
  return cudaSuccess;
}
FB_API cudaError_t cudaGetDevice(int* device) {
  if (!device) return record(cudaErrorInvalidValue);
  if (const auto e = Session::get().connect(); e != cudaSuccess) return record(e);
  *device = shim::thread().device;
  return cudaSuccess;
}
FB_API cudaError_t cudaSetDevice(int device) {
  if (const auto e = shim::check_device(device); e != cudaSuccess) return record(e);
  shim::thread().device = device;
  shim::thread().has_context = true;
  return record(Session::get().sticky(device));
}
FB_API cudaError_t cudaInitDevice(int device, unsigned int, unsigned int flags) {
  if (flags > cudaInitDeviceFlagsAreValid) return record(cudaErrorInvalidValue);
  return record(shim::check_device(device));
}
FB_API cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  constexpr unsigned int kKnown = cudaDeviceScheduleMask | cudaDeviceMapHost | cudaDeviceLmemResizeToMax;
  if (flags & ~kKnown) return record(cudaErrorInvalidValue);
  if (const auto e = Session::get().connect(); e != cudaSuccess) return record(e);
  settings().flags = flags;
  return cudaSuccess;
}
FB_API cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  if (!flags) return record(cudaErrorInvalidValue);
  if (const auto e = Session::get().connect(); e != cudaSuccess) return record(e);
  *flags = settings().flags | cudaDeviceMapHost;
  return cudaSuccess;
}
FB_API cudaError_t cudaSetValidDevices(int* devices, int count) {
  if (!devices && count != 0) return record(cudaErrorInvalidValue);
  for (int k = 0; k < count; ++k) {
    if (const auto e = shim::check_device(devices[k]); e != cudaSuccess) return record(e);
  }
  return cudaSuccess;
}
FB_API cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  return record(choose(device, wanted));
}

FB_API cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id) { return record(find_by_bus_id(device, id)); }
FB_API cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  if (!id || length < 13) return record(cudaErrorInvalidValue);
  if (const auto e = shim::check_device(device); e != cudaSuccess) return record(e);
  const auto& facts = Session::get().device(device);
  std::snprintf(id, static_cast<size_t>(length), "%04x:%02x:%02x.0", facts.pci.domain, facts.pci.bus, facts.pci.device);
  return cudaSuccess;
}

FB_API cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  if (!value) return record(cudaErrorInvalidValue);
  if (limit < 0 || static_cast<size_t>(limit) >= settings().limits.size()) return record(cudaErrorUnsupportedLimit);
  if (const auto e = Session::get().connect(); e != cudaSuccess) return record(e);
  *value = settings().limits[static_cast<size_t>(limit)];
  return cudaSuccess;
}
FB_API cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  if (limit < 0 || static_cast<size_t>(limit) >= settings().limits.size()) return record(cudaErrorUnsupportedLimit);
  if (const auto e = Session::get().connect(); e != cudaSuccess) return record(e);
  settings().limits[static_cast<size_t>(limit)] = value;
  return cudaSuccess;
}
FB_API cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  if (!config) return record(cudaErrorInvalidValue);
  if (const auto e = Session::get().connect(); e != cudaSuccess) return record(e);
  *config = settings().cache;
  return cudaSuccess;
}
FB_API cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
  if (config < cudaFuncCachePreferNone || config > cudaFuncCachePreferEqual) return record(cudaErrorInvalidValue);
  if (const auto e = Session::get().connect(); e != cudaSuccess) return record(e);
  settings().cache = config;
  return cudaSuccess;
}
FB_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (const auto e = Session::get().connect(); e != cudaSuccess) return record(e);
  if (least) *least = shim::kLeastPriority;
  if (greatest) *greatest = shim::kGreatestPriority;
  return cudaSuccess;
}

FB_API cudaError_t cudaDeviceSynchronize() { return record(shim::wait_for_device(shim::thread().device)); }
FB_API cudaError_t cudaDeviceReset() { return record(shim::reset_device(shim::thread().device)); }
FB_API cudaError_t cudaCtxResetPersistingL2Cache() { return record(Session::get().connect()); }

// Writes of other devices are visible when they have arrived.
FB_API cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTarget target,
                                                      cudaFlushGPUDirectRDMAWritesScope scope) {
  if (target != cudaFlushGPUDirectRDMAWritesTargetCurrentDevice ||
      (scope != cudaFlushGPUDirectRDMAWritesToOwner && scope != cudaFlushGPUDirectRDMAWritesToAllDevices))
    return record(cudaErrorInvalidValue);
  return record(Session::get().connect());
}

// Versions are known without a machine.
FB_API cudaError_t cudaDriverGetVersion(int* version) {
  if (!version) return record(cudaErrorInvalidValue);
  *version = kVersion;
  return cudaSuccess;
}
FB_API cudaError_t cudaRuntimeGetVersion(int* version) {
  if (!version) return record(cudaErrorInvalidValue);
  *version = kVersion;
  return cudaSuccess;
}

FB_API cudaError_t cudaProfilerStart() { return record(Session::get().connect()); }
FB_API cudaError_t cudaProfilerStop() { return record(Session::get().connect()); }
