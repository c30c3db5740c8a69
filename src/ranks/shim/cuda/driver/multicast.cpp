#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/driver/driver.h"
#include "ranks/shim/cuda/driver/physical.h"

using namespace fb::shim;
namespace wire = fb::wire;

namespace {

Error check_properties(const CUmulticastObjectProp* properties) {
  if (!properties || properties->flags != 0 || properties->numDevices == 0) return cudaErrorInvalidValue;
  if (properties->numDevices > static_cast<unsigned int>(Session::get().device_count())) return cudaErrorInvalidValue;
  for (int device = 0; device < Session::get().device_count(); ++device) {
    if (Session::get().device(device).multicast)
      return properties->handleTypes & ~kKnownHandleTypes ? cudaErrorInvalidValue : cudaSuccess;
  }
  return cudaErrorNotSupported;
}

}  // namespace

FB_API CUresult cuMulticastGetGranularity(size_t* bytes, const CUmulticastObjectProp* properties,
                                          CUmulticastGranularity_flags option) {
  return with_init([&] {
    if (!bytes || option < CU_MULTICAST_GRANULARITY_MINIMUM || option > CU_MULTICAST_GRANULARITY_RECOMMENDED)
      return cudaErrorInvalidValue;
    if (const Error e = check_properties(properties); e != cudaSuccess) return e;
    *bytes = wire::kGranularity;
    return cudaSuccess;
  });
}

FB_API CUresult cuMulticastCreate(CUmemGenericAllocationHandle* handle, const CUmulticastObjectProp* properties) {
  return with_init([&] {
    if (!handle) return cudaErrorInvalidValue;
    if (const Error e = check_properties(properties); e != cudaSuccess) return e;
    if (const Error e = check_handle_types(properties->handleTypes); e != cudaSuccess) return e;
    if (properties->size == 0 || properties->size % wire::kGranularity != 0) return cudaErrorInvalidValue;
    wire::Handle made;
    const Error e = call<wire::Kind::multicast_create>({.bytes = properties->size,
                                                        .devices = properties->numDevices,
                                                        .shareable = shareable_by(properties->handleTypes)},
                                                       &made);
    if (e == cudaSuccess) *handle = made.handle;
    return e;
  });
}

FB_API CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle multicast, CUdevice device) {
  return with_init([&] {
    if (const Error e = check_device(device); e != cudaSuccess) return e;
    return as_value(
        call<wire::Kind::multicast_add_device>({.multicast = multicast, .device = static_cast<uint32_t>(device)}));
  });
}

FB_API CUresult cuMulticastBindMem(CUmemGenericAllocationHandle multicast, size_t multicast_offset,
                                   CUmemGenericAllocationHandle memory, size_t memory_offset, size_t bytes,
                                   unsigned long long flags) {
  return with_init([&] {
    if (flags != 0 || bytes == 0) return cudaErrorInvalidValue;
    return as_value(call<wire::Kind::multicast_bind_memory>({.multicast = multicast,
                                                             .multicast_offset = multicast_offset,
                                                             .memory = memory,
                                                             .memory_offset = memory_offset,
                                                             .bytes = bytes}));
  });
}

FB_API CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle multicast, size_t multicast_offset,
                                    CUdeviceptr pointer, size_t bytes, unsigned long long flags) {
  return with_init([&] {
    if (flags != 0 || bytes == 0) return cudaErrorInvalidValue;
    return as_value(call<wire::Kind::multicast_bind_address>(
        {.multicast = multicast, .multicast_offset = multicast_offset, .memory = pointer, .bytes = bytes}));
  });
}

FB_API CUresult cuMulticastUnbind(CUmemGenericAllocationHandle multicast, CUdevice device, size_t offset,
                                  size_t bytes) {
  return with_init([&] {
    if (const Error e = check_device(device); e != cudaSuccess) return e;
    if (bytes == 0) return cudaErrorInvalidValue;
    return as_value(call<wire::Kind::multicast_unbind>(
        {.multicast = multicast, .multicast_offset = offset, .bytes = bytes, .device = static_cast<uint32_t>(device)}));
  });
}
