// All-reduce in the switch: multimem instructions on a multicast object.
//
// Teaches: a multicast object binds memory of each GPU behind one address. multimem.ld_reduce reads that address and
// gets the sum over all GPUs, added in the switch; multimem.st writes to all of them; multimem.red adds to a flag of
// each. Every rank reduces one slice and broadcasts it: each link carries the message about once in each direction.
// Watch out: all devices must be added before any rank binds, and all must have bound before any rank uses the address:
// hence the two barriers on the host. Multicast and plain address are aliases of the same memory: fence.proxy.alias
// between.
//
// Run: fabricbench exec --platform h100x8 --ranks 8 examples/13_multimem_all_reduce.cu   (needs NVSwitch, from 2 ranks)
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/bootstrap.h"
#include "common/check_driver.h"
#include "common/flags.h"

constexpr int kBlocks = 8, kThreads = 256;
constexpr size_t kDataAt = 4096;  // in front: one counter for each block

// Block b of each rank adds 1 to counter b of all ranks, and waits until all `world` have done so, `epoch` times.
__device__ void multicast_barrier(unsigned int* multicast, unsigned int* mine, int world, unsigned int epoch) {
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("fence.proxy.alias;" ::: "memory");
    asm volatile("multimem.red.release.sys.global.add.u32 [%0], 1;" ::"l"(multicast + blockIdx.x) : "memory");
    wait_flag(mine + blockIdx.x, epoch * static_cast<unsigned int>(world));
    asm volatile("fence.proxy.alias;" ::: "memory");
  }
  __syncthreads();
}

// Slices are whole groups of 4 floats; the buffer is padded to that.
__global__ void all_reduce(char* multicast, char* mine, int groups, int rank, int world, unsigned int epoch) {
  auto* multicast_flags = reinterpret_cast<unsigned int*>(multicast);
  auto* my_flags = reinterpret_cast<unsigned int*>(mine);
  multicast_barrier(multicast_flags, my_flags, world, 2 * epoch - 1);
  const int slice = (groups + world - 1) / world;
  const int end = min((rank + 1) * slice, groups);
  for (int i = rank * slice + blockIdx.x * kThreads + threadIdx.x; i < end; i += kBlocks * kThreads) {
    char* const address = multicast + kDataAt + static_cast<size_t>(i) * 16;
    float x, y, z, w;
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x), "=f"(y), "=f"(z), "=f"(w)
                 : "l"(address)
                 : "memory");
    asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(x), "f"(y), "f"(z),
                 "f"(w)
                 : "memory");
  }
  multicast_barrier(multicast_flags, my_flags, world, 2 * epoch);
}

char* map_for(CUdevice device, CUmemGenericAllocationHandle memory, size_t bytes, size_t alignment) {
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

int main() {
  Bootstrap bootstrap;
  const int rank = bootstrap.rank, world = bootstrap.world;
  CHECK(cudaSetDevice(bootstrap.local_rank));
  CHECK(cudaFree(nullptr));  // makes the device's context current for the driver API
  CUdevice device = 0;
  int supported = 0;
  CHECK(cuDeviceGet(&device, bootstrap.local_rank));
  CHECK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, device));
  if (!supported) {
    if (rank == 0) std::printf("OK skipped: no multicast on this platform\n");
    return 0;
  }

  constexpr int kCount = 20005, kGroups = (kCount + 3) / 4;
  CUmulticastObjectProp object{};
  object.numDevices = static_cast<unsigned int>(world);
  object.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  object.size = kDataAt + kGroups * 16;
  size_t granularity = 0;
  CHECK(cuMulticastGetGranularity(&granularity, &object, CU_MULTICAST_GRANULARITY_RECOMMENDED));
  const size_t bytes = (object.size + granularity - 1) / granularity * granularity;
  object.size = bytes;

  // Rank 0 makes the object, the others import it; each adds its device, and binds memory of its own.
  CUmemGenericAllocationHandle multicast = 0, memory = 0;
  int descriptor = -1;
  if (rank == 0) {
    CHECK(cuMulticastCreate(&multicast, &object));
    CHECK(cuMemExportToShareableHandle(&descriptor, multicast, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  }
  descriptor = bootstrap.broadcast_descriptor(descriptor);
  if (rank != 0) {
    void* shared = reinterpret_cast<void*>(static_cast<uintptr_t>(descriptor));
    CHECK(cuMemImportFromShareableHandle(&multicast, shared, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  }
  close(descriptor);
  CHECK(cuMulticastAddDevice(multicast, device));
  bootstrap.barrier();

  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CHECK(cuMemCreate(&memory, bytes, &properties, 0));
  CHECK(cuMulticastBindMem(multicast, 0, memory, 0, bytes, 0));
  char* const mine = map_for(device, memory, bytes, granularity);
  char* const all = map_for(device, multicast, bytes, granularity);
  CHECK(cudaMemset(mine, 0, bytes));
  CHECK(cudaDeviceSynchronize());
  bootstrap.barrier();

  std::vector<float> host(kCount);
  for (unsigned int epoch = 1; epoch <= 2; ++epoch) {
    for (int i = 0; i < kCount; ++i) host[i] = static_cast<float>((i + rank * 3 + static_cast<int>(epoch)) % 64);
    CHECK(cudaMemcpy(mine + kDataAt, host.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
    all_reduce<<<kBlocks, kThreads>>>(all, mine, kGroups, rank, world, epoch);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host.data(), mine + kDataAt, kCount * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < kCount; ++i) {
      float expected = 0;
      for (int r = 0; r < world; ++r) expected += static_cast<float>((i + r * 3 + static_cast<int>(epoch)) % 64);
      if (host[i] != expected) fail("rank %d: sum %d is %g, expected %g", rank, i, host[i], expected);
    }
  }

  bootstrap.barrier();  // no rank still writes into my memory
  for (char* address : {mine, all}) {
    CHECK(cuMemUnmap(reinterpret_cast<CUdeviceptr>(address), bytes));
    CHECK(cuMemAddressFree(reinterpret_cast<CUdeviceptr>(address), bytes));
  }
  CHECK(cuMulticastUnbind(multicast, device, 0, bytes));
  CHECK(cuMemRelease(memory));
  CHECK(cuMemRelease(multicast));
  if (rank == 0) std::printf("OK multimem all-reduce of %d floats on %d ranks\n", kCount, world);
}
