// Fabric handles: 64 bytes that one process sends and another opens.
#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "check.h"

#undef EXPECT
#define EXPECT(call, wanted) CHECK_TRUE((call) == (wanted))  // of the driver
#undef CHECK
#define CHECK(call) CHECK_TRUE((call) == cudaSuccess)

constexpr size_t kBytes = 2 << 20;

__global__ void fill(int* words, int value) { words[threadIdx.x] = value + static_cast<int>(threadIdx.x); }

static CUmemAllocationProp memory_of(int device, CUmemAllocationHandleType type) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  properties.requestedHandleTypes = type;
  return properties;
}

static int* map(CUmemGenericAllocationHandle memory, int device) {
  CUdeviceptr address = 0;
  EXPECT(cuMemAddressReserve(&address, kBytes, 0, 0, 0), CUDA_SUCCESS);
  EXPECT(cuMemMap(address, kBytes, 0, memory, 0), CUDA_SUCCESS);
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT(cuMemSetAccess(address, kBytes, &access, 1), CUDA_SUCCESS);
  return reinterpret_cast<int*>(address);
}

// The other process: writes into the memory from its device.
static int child(int from) {
  CUmemFabricHandle handle;
  if (read(from, &handle, sizeof handle) != sizeof handle) return 1;
  CHECK(cudaSetDevice(1));
  CHECK(cudaFree(nullptr));
  CUmemGenericAllocationHandle memory = 0;
  EXPECT(cuMemImportFromShareableHandle(&memory, &handle, CU_MEM_HANDLE_TYPE_FABRIC), CUDA_SUCCESS);
  int* const words = map(memory, 1);
  fill<<<1, 32>>>(words, 100);
  CHECK(cudaDeviceSynchronize());
  return failures();
}

int main() {
  int ends[2];
  CHECK_TRUE(pipe(ends) == 0);
  const pid_t other = fork();
  if (other == 0) return child(ends[0]);

  CHECK(cudaSetDevice(0));
  CHECK(cudaFree(nullptr));
  const auto shared = memory_of(0, CU_MEM_HANDLE_TYPE_FABRIC);
  CUmemGenericAllocationHandle memory = 0, imported = 0;
  EXPECT(cuMemCreate(&memory, kBytes, &shared, 0), CUDA_SUCCESS);
  CUmemFabricHandle handle, wrong;
  EXPECT(cuMemExportToShareableHandle(&handle, memory, CU_MEM_HANDLE_TYPE_FABRIC, 0), CUDA_SUCCESS);
  int descriptor = -1;
  EXPECT(cuMemExportToShareableHandle(&descriptor, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
         CUDA_ERROR_INVALID_VALUE);
  // Every bit of what is used counts: a handle can't be made from another.
  for (size_t bit = 0; bit < 256; bit += 17) {
    std::memcpy(&wrong, &handle, sizeof wrong);
    reinterpret_cast<unsigned char*>(&wrong)[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    EXPECT(cuMemImportFromShareableHandle(&imported, &wrong, CU_MEM_HANDLE_TYPE_FABRIC), CUDA_ERROR_INVALID_VALUE);
  }
  int* const words = map(memory, 0);
  CHECK_TRUE(write(ends[1], &handle, sizeof handle) == sizeof handle);
  int status = 1;
  CHECK_TRUE(waitpid(other, &status, 0) == other && status == 0);
  int found[32] = {};
  CHECK(cudaMemcpy(found, words, sizeof found, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) CHECK_TRUE(found[i] == 100 + i);

  // The handle names memory; it does not keep it.
  CUmemGenericAllocationHandle second = 0;
  CUmemFabricHandle of_second;
  EXPECT(cuMemCreate(&second, kBytes, &shared, 0), CUDA_SUCCESS);
  EXPECT(cuMemExportToShareableHandle(&of_second, second, CU_MEM_HANDLE_TYPE_FABRIC, 0), CUDA_SUCCESS);
  EXPECT(cuMemRelease(second), CUDA_SUCCESS);
  EXPECT(cuMemImportFromShareableHandle(&imported, &of_second, CU_MEM_HANDLE_TYPE_FABRIC), CUDA_ERROR_INVALID_VALUE);
  if (failures() == 0) std::puts("OK");
  return failures();
}
