// The driver API: modules, virtual memory, multicast, values on streams.
#pragma once
#include <unistd.h>

#include "row.h"

inline CUmemAllocationProp device_memory(int device = 0) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

// Physical memory of one granule, and an address range of the same size.
struct Granule {
  Granule() {
    const CUmemAllocationProp properties = device_memory();
    cudaFree(nullptr);
    cuMemGetAllocationGranularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    cuMemCreate(&memory, bytes, &properties, 0);
    cuMemAddressReserve(&address, bytes, 0, 0, 0);
  }
  ~Granule() {
    if (mapped) cuMemUnmap(address, bytes);
    cuMemAddressFree(address, bytes);
    cuMemRelease(memory);
  }
  Granule(const Granule&) = delete;
  Granule& operator=(const Granule&) = delete;
  CUresult map() {
    const CUresult result = cuMemMap(address, bytes, 0, memory, 0);
    mapped |= result == CUDA_SUCCESS;
    return result;
  }
  size_t bytes = 0;
  CUmemGenericAllocationHandle memory = 0;
  CUdeviceptr address = 0;
  bool mapped = false;
};

// A multicast object for two devices, of which none was added yet; 0 where there is no multicast.
struct Multicast {
  Multicast() {
    int supported = 0;
    cudaFree(nullptr);
    cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0);
    if (!supported || device_count() < 2) return;
    CUmulticastObjectProp properties{};
    properties.numDevices = 2;
    properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties.size = 2 << 20;
    cuMulticastGetGranularity(&bytes, &properties, CU_MULTICAST_GRANULARITY_MINIMUM);
    properties.size = bytes;
    cuMulticastCreate(&handle, &properties);
  }
  ~Multicast() {
    if (handle) cuMemRelease(handle);
  }
  Multicast(const Multicast&) = delete;
  Multicast& operator=(const Multicast&) = delete;
  size_t bytes = 0;
  CUmemGenericAllocationHandle handle = 0;
};

inline const char* const kModule =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry present()\n{\nret;\n}\n";

inline Rows driver_rows() {
  return {
      {"cuInit with flags", []() -> Code { return cuInit(5); }, 1},
      {"cuDeviceGet of no device",
       []() -> Code {
         CUdevice device = 0;
         return cuDeviceGet(&device, 999);
       },
       101},
      {"cuGetErrorName of no error",
       []() -> Code {
         const char* name = nullptr;
         return cuGetErrorName(static_cast<CUresult>(12345), &name);
       },
       1},
      {"cuMemFree of no allocation", []() -> Code { return cuMemFree(0x1000); }, 1},
      {"cuPointerGetAttribute of an unknown pointer",
       []() -> Code {
         int ordinal = 0;
         return cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 0x1000);
       },
       1},
      {"cuLaunchKernel of null",
       []() -> Code { return cuLaunchKernel(nullptr, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr); }, 400},
      {"cuModuleLoadData of garbage",
       []() -> Code {
         CUmodule module = nullptr;
         return cuModuleLoadData(&module, "this is no module");
       },
       218, 200},
      {"cuModuleGetFunction of no function",
       []() -> Code {
         CUmodule module = nullptr;
         CUfunction function = nullptr;
         if (const CUresult error = cuModuleLoadData(&module, kModule); error != CUDA_SUCCESS) return error;
         const CUresult error = cuModuleGetFunction(&function, module, "absent");
         cuModuleUnload(module);
         return error;
       },
       500},
      {"cuModuleGetGlobal of no variable",
       []() -> Code {
         CUmodule module = nullptr;
         CUdeviceptr pointer = 0;
         size_t bytes = 0;
         if (const CUresult error = cuModuleLoadData(&module, kModule); error != CUDA_SUCCESS) return error;
         const CUresult error = cuModuleGetGlobal(&pointer, &bytes, module, "absent");
         cuModuleUnload(module);
         return error;
       },
       500},
      {"cuMemCreate of a size that is no multiple of the granularity",
       []() -> Code {
         const CUmemAllocationProp properties = device_memory();
         CUmemGenericAllocationHandle memory = 0;
         return cuMemCreate(&memory, 12345, &properties, 0);
       },
       1},
      {"cuMemCreate on no device",
       []() -> Code {
         const CUmemAllocationProp properties = device_memory(999);
         CUmemGenericAllocationHandle memory = 0;
         return cuMemCreate(&memory, 2 << 20, &properties, 0);
       },
       101, 1},
      {"cuMemMap of a range that is mapped",
       []() -> Code {
         Granule granule;
         granule.map();
         return granule.map();
       },
       1},
      {"cuMemSetAccess of a range that is not mapped",
       []() -> Code {
         const Granule granule;
         CUmemAccessDesc access{};
         access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
         access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
         return cuMemSetAccess(granule.address, granule.bytes, &access, 1);
       },
       1},
      {"cuMemUnmap of a range that is not mapped",
       []() -> Code {
         const Granule granule;
         return cuMemUnmap(granule.address, granule.bytes);
       },
       1},
      {"cuMemAddressFree of another size",
       []() -> Code {
         const Granule granule;
         return cuMemAddressFree(granule.address, granule.bytes * 2);
       },
       1},
      {"cuMemRelease of garbage", []() -> Code { return cuMemRelease(0xdeadbeef); }, 1},
      {"cuMemExportToShareableHandle of memory not made for it",
       []() -> Code {
         const Granule granule;
         int descriptor = -1;
         return cuMemExportToShareableHandle(&descriptor, granule.memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
       },
       1},
      {"cuMulticastAddDevice twice",
       []() -> Code {
         const Multicast multicast;
         if (!multicast.handle) return kNotApplicable;
         cuMulticastAddDevice(multicast.handle, 0);
         return cuMulticastAddDevice(multicast.handle, 0);
       },
       1, 401},
      {"cuMulticastBindMem beyond the end of the object",
       []() -> Code {
         const Multicast multicast;
         if (!multicast.handle) return kNotApplicable;
         const CUmemAllocationProp properties = device_memory();
         CUmemGenericAllocationHandle memory = 0;
         cuMulticastAddDevice(multicast.handle, 0);
         cuMulticastAddDevice(multicast.handle, 1);
         cuMemCreate(&memory, multicast.bytes * 2, &properties, 0);
         const CUresult error = cuMulticastBindMem(multicast.handle, 0, memory, 0, multicast.bytes * 2, 0);
         cuMemRelease(memory);
         return error;
       },
       1},
      {"cuStreamWaitValue32 of an address that is no multiple of 4",
       []() -> Code {
         const Buffer buffer;
         const Stream stream;
         return cuStreamWaitValue32(stream, buffer.address() + 2, 0, CU_STREAM_WAIT_VALUE_GEQ);
       },
       1},
  };
}
