// Memory of each GPU behind one multicast address (examples/13_multimem_all_reduce.cu explains the steps).
#pragma once
#include <cuda.h>
#include <unistd.h>

#include <cstdint>

#include "../../../examples/common/check_driver.h"
#include "harness.h"

class Multicast {
 public:
  // All zeros. Mapped until the process ends.
  Multicast(const Gpu& gpu, size_t least) {
    CUdevice device = 0;
    CHECK(cuDeviceGet(&device, gpu.bootstrap.local_rank));
    CUmulticastObjectProp object{};
    object.numDevices = static_cast<unsigned int>(gpu.world);
    object.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    object.size = least;
    size_t granularity = 0;
    CHECK(cuMulticastGetGranularity(&granularity, &object, CU_MULTICAST_GRANULARITY_RECOMMENDED));
    const size_t bytes = object.size = (least + granularity - 1) / granularity * granularity;
    CUmemGenericAllocationHandle all = 0, mine = 0;
    int descriptor = -1;
    if (gpu.rank == 0) {
      CHECK(cuMulticastCreate(&all, &object));
      CHECK(cuMemExportToShareableHandle(&descriptor, all, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    }
    descriptor = gpu.bootstrap.broadcast_descriptor(descriptor);
    if (gpu.rank != 0) {
      void* const shared = reinterpret_cast<void*>(static_cast<uintptr_t>(descriptor));
      CHECK(cuMemImportFromShareableHandle(&all, shared, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    }
    close(descriptor);
    CHECK(cuMulticastAddDevice(all, device));
    gpu.bootstrap.barrier();
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    CHECK(cuMemCreate(&mine, bytes, &properties, 0));
    CHECK(cuMulticastBindMem(all, 0, mine, 0, bytes, 0));
    mine_ = map(mine, device, bytes, granularity);
    all_ = map(all, device, bytes, granularity);
    CHECK(cudaMemset(mine_, 0, bytes));
    CHECK(cudaDeviceSynchronize());
    gpu.bootstrap.barrier();
  }

  template <class T>
  T* mine(size_t offset) const {
    return reinterpret_cast<T*>(mine_ + offset);
  }
  template <class T>
  T* all(size_t offset) const {
    return reinterpret_cast<T*>(all_ + offset);
  }

 private:
  static char* map(CUmemGenericAllocationHandle memory, CUdevice device, size_t bytes, size_t alignment) {
    CUdeviceptr address = 0;
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CHECK(cuMemAddressReserve(&address, bytes, alignment, 0, 0));
    CHECK(cuMemMap(address, bytes, 0, memory, 0));
    CHECK(cuMemSetAccess(address, bytes, &access, 1));
    return reinterpret_cast<char*>(address);
  }

  char *mine_ = nullptr, *all_ = nullptr;
};
