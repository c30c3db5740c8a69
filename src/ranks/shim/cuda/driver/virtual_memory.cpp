// Physical memory by handle, address ranges by reservation.

#include <fcntl.h>

#include <cstring>

#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/driver/driver.h"
#include "ranks/shim/cuda/driver/physical.h"
#include "ranks/shim/cuda/streams/capture.h"

using namespace fb::shim;
namespace wire = fb::wire;

namespace {

Error check_location(const CUmemLocation& location) {
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    const bool host =
        location.type >= CU_MEM_LOCATION_TYPE_HOST && location.type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
    return host ? cudaErrorNotSupported : cudaErrorInvalidValue;
  }
  return check_device(location.id);
}

Error check_properties(const CUmemAllocationProp* properties) {
  if (!properties || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) return cudaErrorInvalidValue;
  if (static_cast<unsigned long long>(properties->requestedHandleTypes) & ~kKnownHandleTypes)
    return cudaErrorInvalidValue;
  return check_location(properties->location);
}

wire::Access to_access(CUmemAccess_flags flags) {
  switch (flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_READ:
      return wire::Access::read;
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
      return wire::Access::read_write;
    default:
      return wire::Access::none;
  }
}

}  // namespace

namespace fb::shim {

Error check_handle_types(unsigned long long types) {
  if (types & ~kKnownHandleTypes) return cudaErrorInvalidValue;
  constexpr unsigned long long kHere = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC;
  const bool fabric = types & CU_MEM_HANDLE_TYPE_FABRIC;
  return types & ~kHere || (fabric && !Session::get().device(0).fabric_handles) ? cudaErrorNotSupported : cudaSuccess;
}

uint32_t shareable_by(unsigned long long types) {
  return (types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ? uint32_t{wire::kAsDescriptor} : 0) |
         (types & CU_MEM_HANDLE_TYPE_FABRIC ? uint32_t{wire::kAsFabricHandle} : 0);
}

unsigned long long handle_types(uint32_t shareable) {
  return (shareable & wire::kAsDescriptor ? uint64_t{CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR} : 0) |
         (shareable & wire::kAsFabricHandle ? uint64_t{CU_MEM_HANDLE_TYPE_FABRIC} : 0);
}

Error as_value(Error error) { return error == cudaErrorInvalidResourceHandle ? cudaErrorInvalidValue : error; }

}  // namespace fb::shim

FB_API CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp* properties,
                                              CUmemAllocationGranularity_flags option) {
  return with_init([&] {
    if (!bytes || option < CU_MEM_ALLOC_GRANULARITY_MINIMUM || option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
      return cudaErrorInvalidValue;
    if (const Error e = check_properties(properties); e != cudaSuccess) return e;
    *bytes = wire::kGranularity;
    return cudaSuccess;
  });
}

FB_API CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* properties,
                            unsigned long long flags) {
  return with_init([&] {
    if (!handle || flags != 0) return cudaErrorInvalidValue;
    if (const Error e = check_properties(properties); e != cudaSuccess) return e;
    if (const Error e = check_handle_types(static_cast<unsigned long long>(properties->requestedHandleTypes));
        e != cudaSuccess)
      return e;
    if (bytes == 0 || bytes % wire::kGranularity != 0) return cudaErrorInvalidValue;
    if (const Error e = check_unsafe_call(); e != cudaSuccess) return e;
    const uint32_t shareable = shareable_by(static_cast<unsigned long long>(properties->requestedHandleTypes));
    wire::Handle made;
    const Error e = call_on<wire::Kind::physical_create>(
        properties->location.id, {.bytes = bytes, .device = properties->location.id, .shareable = shareable}, &made);
    if (e == cudaSuccess) *handle = made.handle;
    return e;
  });
}

FB_API CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return with_init([&] { return as_value(call<wire::Kind::physical_release>({.handle = handle})); });
}

FB_API CUresult cuMemAddressReserve(CUdeviceptr* pointer, size_t bytes, size_t alignment, CUdeviceptr wanted,
                                    unsigned long long flags) {
  return with_init([&] {
    if (!pointer || flags != 0 || bytes == 0 || bytes % wire::kGranularity != 0) return cudaErrorInvalidValue;
    if ((alignment & (alignment - 1)) != 0) return cudaErrorInvalidValue;
    wire::Address made;
    // An address that is not free is a wish that fails, not an error: the machine chooses another.
    const Error e = call<wire::Kind::range_reserve>({.bytes = bytes, .align = alignment, .wish = wanted}, &made);
    if (e == cudaSuccess) *pointer = made.address;
    return e;
  });
}

FB_API CUresult cuMemAddressFree(CUdeviceptr pointer, size_t bytes) {
  return with_init([&] { return as_value(call<wire::Kind::range_free>({.address = pointer, .bytes = bytes})); });
}

FB_API CUresult cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                         unsigned long long flags) {
  return with_init([&] {
    // Only whole allocations, from their beginning, can be mapped.
    if (flags != 0 || offset != 0 || bytes == 0 || bytes % wire::kGranularity != 0) return cudaErrorInvalidValue;
    return as_value(
        call<wire::Kind::range_map>({.address = pointer, .bytes = bytes, .offset = offset, .physical = handle}));
  });
}

FB_API CUresult cuMemUnmap(CUdeviceptr pointer, size_t bytes) {
  return with_init([&] {
    if (bytes == 0) return cudaErrorInvalidValue;
    return as_value(call<wire::Kind::range_unmap>({.address = pointer, .bytes = bytes}));
  });
}

FB_API CUresult cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc* access, size_t count) {
  return with_init([&] {
    if (!access || count == 0 || bytes == 0) return cudaErrorInvalidValue;
    for (size_t k = 0; k < count; ++k) {
      if (const Error e = check_location(access[k].location); e != cudaSuccess) return e;
      const wire::RangeAccess request{
          .address = pointer, .bytes = bytes, .device = access[k].location.id, .access = to_access(access[k].flags)};
      if (const Error e = call<wire::Kind::range_set_access>(request); e != cudaSuccess) return as_value(e);
    }
    return cudaSuccess;
  });
}

FB_API CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr pointer) {
  return with_init([&] {
    if (!flags || !location) return cudaErrorInvalidValue;
    if (const Error e = check_location(*location); e != cudaSuccess) return e;
    wire::RangeAccess reply;
    const Error e =
        call<wire::Kind::range_get_access>({.address = pointer, .bytes = 1, .device = location->id}, &reply);
    if (e == cudaSuccess) *flags = static_cast<unsigned long long>(reply.access);
    return as_value(e);
  });
}

FB_API CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                             CUmemAllocationHandleType type, unsigned long long flags) {
  return with_init([&] {
    if (!shareable || flags != 0) return cudaErrorInvalidValue;
    if (type == CU_MEM_HANDLE_TYPE_FABRIC) {
      wire::IpcToken made;
      const Error e = call<wire::Kind::physical_export_fabric>({.handle = handle}, &made);
      static_assert(sizeof(CUmemFabricHandle) == sizeof made.bytes);
      if (e == cudaSuccess) std::memcpy(shareable, made.bytes, sizeof made.bytes);
      return as_value(e);
    }
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return cudaErrorInvalidValue;
    fb::UniqueFd descriptor;
    const Error e = call<wire::Kind::physical_export>({.handle = handle}, nullptr, {}, nullptr, -1, &descriptor);
    if (e != cudaSuccess) return as_value(e);
    const int fd = descriptor.release();
    std::memcpy(shareable, &fd, sizeof fd);
    return cudaSuccess;
  });
}

FB_API CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                               CUmemAllocationHandleType type) {
  return with_init([&] {
    if (!handle) return cudaErrorInvalidValue;
    if (type == CU_MEM_HANDLE_TYPE_FABRIC) {
      if (!shareable) return cudaErrorInvalidValue;
      wire::IpcToken given;
      std::memcpy(given.bytes, shareable, sizeof given.bytes);
      wire::Handle opened;
      const Error e = call<wire::Kind::physical_import_fabric>(given, &opened);
      if (e == cudaSuccess) *handle = opened.handle;
      return as_value(e);
    }
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return cudaErrorInvalidValue;
    const auto fd = static_cast<int>(reinterpret_cast<intptr_t>(shareable));
    if (::fcntl(fd, F_GETFD) < 0) return cudaErrorInvalidValue;
    wire::Handle made;
    const Error e = call<wire::Kind::physical_import>({}, &made, {}, nullptr, fd);
    if (e == cudaSuccess) *handle = made.handle;
    return as_value(e);
  });
}

FB_API CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                       CUmemGenericAllocationHandle handle) {
  return with_init([&] {
    if (!properties) return cudaErrorInvalidValue;
    wire::PhysicalFacts facts;
    const Error e = call<wire::Kind::physical_facts>({.handle = handle}, &facts);
    if (e != cudaSuccess) return as_value(e);
    *properties = {};
    properties->type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties->requestedHandleTypes = static_cast<CUmemAllocationHandleType>(handle_types(facts.shareable));
    properties->location = {CU_MEM_LOCATION_TYPE_DEVICE, facts.device};
    return cudaSuccess;
  });
}

FB_API CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return with_init([&] {
    if (!handle) return cudaErrorInvalidValue;
    wire::Handle made;
    const Error e = call<wire::Kind::physical_retain>({.address = reinterpret_cast<uint64_t>(address)}, &made);
    if (e == cudaSuccess) *handle = made.handle;
    return as_value(e);
  });
}
