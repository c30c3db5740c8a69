// Virtual memory management: physical memory by handle, addresses by reservation, sharing by file descriptor.
//
// Teaches: cuMemCreate makes memory without an address, cuMemAddressReserve an address without memory, cuMemMap joins
// them, cuMemSetAccess says which device may touch it. cuMemExportToShareableHandle makes a file descriptor of the
// memory; sent over a Unix socket (SCM_RIGHTS) it can be imported and mapped by another process. Watch out: sizes are
// multiples of the granularity. A process that maps the memory needs cuMemSetAccess for its own device; nothing is
// accessible by default. An imported handle keeps the memory alive, and so does a mapping.
//
// Run: fabricbench exec --platform h100x8 --ranks 4 examples/08_vmm_descriptor_export.cu
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/bootstrap.h"
#include "common/check_driver.h"
#include "common/peers.h"

// Slot `rank` of every rank's buffer.
__global__ void write_slots(Peers<int> peers, int rank, int world, int slot) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= slot) return;
  for (int peer = 0; peer < world; ++peer) peers.of[peer][rank * slot + i] = rank * 100000 + peer * 10000 + i;
}

CUdeviceptr map_for(CUdevice device, CUmemGenericAllocationHandle memory, size_t bytes) {
  CUdeviceptr address = 0;
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK(cuMemAddressReserve(&address, bytes, 0, 0, 0));
  CHECK(cuMemMap(address, bytes, 0, memory, 0));
  CHECK(cuMemSetAccess(address, bytes, &access, 1));
  return address;
}

int main() {
  Bootstrap bootstrap;
  const int world = bootstrap.world;
  CHECK(cudaSetDevice(bootstrap.local_rank));
  CHECK(cudaFree(nullptr));  // makes the device's context current for the driver API
  CUdevice device = 0;
  CHECK(cuDeviceGet(&device, bootstrap.local_rank));

  constexpr int kSlot = 5003;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  size_t granularity = 0;
  CHECK(cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  const size_t wanted = static_cast<size_t>(world) * kSlot * sizeof(int);
  const size_t bytes = (wanted + granularity - 1) / granularity * granularity;

  CUmemGenericAllocationHandle mine = 0;
  CHECK(cuMemCreate(&mine, bytes, &properties, 0));
  int descriptor = -1;
  CHECK(cuMemExportToShareableHandle(&descriptor, mine, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  const std::vector<int> descriptors = bootstrap.all_gather_descriptors(descriptor);

  std::vector<CUmemGenericAllocationHandle> memory(world);
  Peers<int> peers{};
  for (int r = 0; r < world; ++r) {
    memory[r] = mine;
    if (r != bootstrap.rank) {
      // The descriptor itself is passed where a pointer is expected.
      void* shared = reinterpret_cast<void*>(static_cast<uintptr_t>(descriptors[r]));
      CHECK(cuMemImportFromShareableHandle(&memory[r], shared, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    }
    close(descriptors[r]);
    peers.of[r] = reinterpret_cast<int*>(map_for(device, memory[r], bytes));
  }

  write_slots<<<(kSlot + 255) / 256, 256>>>(peers, bootstrap.rank, world, kSlot);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  bootstrap.barrier();  // all have written

  std::vector<int> host(static_cast<size_t>(world) * kSlot);
  CHECK(cudaMemcpy(host.data(), peers.of[bootstrap.rank], wanted, cudaMemcpyDeviceToHost));
  for (int r = 0; r < world; ++r) {
    for (int i = 0; i < kSlot; ++i) {
      const int expected = r * 100000 + bootstrap.rank * 10000 + i, got = host[static_cast<size_t>(r) * kSlot + i];
      if (got != expected) fail("rank %d: slot %d, element %d is %d, not %d", bootstrap.rank, r, i, got, expected);
    }
  }

  for (int r = 0; r < world; ++r) {
    const auto address = reinterpret_cast<CUdeviceptr>(peers.of[r]);
    CHECK(cuMemUnmap(address, bytes));
    CHECK(cuMemAddressFree(address, bytes));
    CHECK(cuMemRelease(memory[r]));
  }
  bootstrap.barrier();
  if (bootstrap.rank == 0) std::printf("OK %d ranks wrote into each other's memory\n", world);
}
