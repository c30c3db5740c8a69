// What programs fall back to and rely on around peers: handle types that are refused, descriptors that keep their
// memory, pools with access of their own, copies without peer access. One process, two devices or more.
#include <cuda.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

static void expect(CUresult got, CUresult wanted, const char* call, int line) {
  if (got == wanted) return;
  ++failures();
  std::printf("line %d: %s: %d, not %d\n", line, call, static_cast<int>(got), static_cast<int>(wanted));
}

__global__ void add(int* to, int what) { *to += what; }

static CUmemAllocationProp memory_of(int device, unsigned int handles) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(handles);
  return properties;
}

static size_t free_bytes() {
  size_t free = 0, total = 0;
  CHECK(cudaMemGetInfo(&free, &total));
  return free;
}

// Where there are switches of NVLink, memory may be shared by descriptors, by fabric handles, or by both.
static void handle_types() {
  const auto both = memory_of(0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC);
  size_t bytes = 0;
  EXPECT(cuMemGetAllocationGranularity(&bytes, &both, CU_MEM_ALLOC_GRANULARITY_MINIMUM), CUDA_SUCCESS);
  CHECK_TRUE(bytes == 2 << 20);
  int fabric = 1;
  EXPECT(cuDeviceGetAttribute(&fabric, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0), CUDA_SUCCESS);
  CHECK_TRUE(fabric == 1);
  CUmemGenericAllocationHandle memory = 0;
  EXPECT(cuMemCreate(&memory, bytes, &both, 0), CUDA_SUCCESS);
  CUmemAllocationProp found{};
  EXPECT(cuMemGetAllocationPropertiesFromHandle(&found, memory), CUDA_SUCCESS);
  CHECK_TRUE(found.requestedHandleTypes == both.requestedHandleTypes);
  EXPECT(cuMemRelease(memory), CUDA_SUCCESS);
  const auto unknown = memory_of(0, 0x100);
  EXPECT(cuMemGetAllocationGranularity(&bytes, &unknown, CU_MEM_ALLOC_GRANULARITY_MINIMUM), CUDA_ERROR_INVALID_VALUE);
  CUmulticastObjectProp multicast{};
  multicast.numDevices = 2;
  multicast.size = bytes;
  multicast.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC;
  EXPECT(cuMulticastGetGranularity(&bytes, &multicast, CU_MULTICAST_GRANULARITY_RECOMMENDED), CUDA_SUCCESS);
  EXPECT(cuMulticastCreate(&memory, &multicast), CUDA_SUCCESS);
  EXPECT(cuMemRelease(memory), CUDA_SUCCESS);
  const auto windows = memory_of(0, CU_MEM_HANDLE_TYPE_WIN32);
  EXPECT(cuMemCreate(&memory, bytes, &windows, 0), CUDA_ERROR_NOT_SUPPORTED);
}

// Sent to a socket and back, as programs pass descriptors on: for a while only the message holds it.
static int through_a_socket(int descriptor) {
  int ends[2];
  CHECK_TRUE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  *reinterpret_cast<int*>(CMSG_DATA(head)) = descriptor;
  CHECK_TRUE(sendmsg(ends[0], &message, 0) == 1);
  close(descriptor);
  free_bytes();  // the machine looks for descriptors that have gone
  CHECK_TRUE(recvmsg(ends[1], &message, 0) == 1);
  head = CMSG_FIRSTHDR(&message);
  const int received = head ? *reinterpret_cast<int*>(CMSG_DATA(head)) : -1;
  close(ends[0]);
  close(ends[1]);
  return received;
}

// Memory is created, exported, released, and lives in its descriptor.
static void descriptors() {
  const size_t before = free_bytes(), bytes = 4 << 20;
  const auto shared = memory_of(0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  CUmemGenericAllocationHandle memory = 0;
  EXPECT(cuMemCreate(&memory, bytes, &shared, 0), CUDA_SUCCESS);
  int first = -1, second = -1;
  EXPECT(cuMemExportToShareableHandle(&first, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
  EXPECT(cuMemExportToShareableHandle(&second, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
  EXPECT(cuMemExportToShareableHandle(&second, memory, CU_MEM_HANDLE_TYPE_FABRIC, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT(cuMemRelease(memory), CUDA_SUCCESS);
  close(second);
  CHECK_TRUE(free_bytes() == before - bytes);

  first = through_a_socket(first);
  CUmemGenericAllocationHandle imported = 0;
  const auto shareable = reinterpret_cast<void*>(static_cast<intptr_t>(first));
  EXPECT(cuMemImportFromShareableHandle(&imported, shareable, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), CUDA_SUCCESS);
  close(first);
  CUdeviceptr address = 0;
  EXPECT(cuMemAddressReserve(&address, bytes, 0, 0, 0), CUDA_SUCCESS);
  EXPECT(cuMemMap(address, bytes, 0, imported, 0), CUDA_SUCCESS);
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = 1;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  EXPECT(cuMemSetAccess(address, bytes, &access, 1), CUDA_SUCCESS);
  auto* const value = reinterpret_cast<int*>(address);
  const int five = 5;
  CHECK(cudaMemcpy(value, &five, sizeof five, cudaMemcpyDefault));
  CHECK(cudaSetDevice(1));
  add<<<1, 1>>>(value, 2);
  int got = 0;
  CHECK(cudaMemcpy(&got, value, sizeof got, cudaMemcpyDefault));
  CHECK(cudaSetDevice(0));
  CHECK_TRUE(got == 7);
  EXPECT(cuMemUnmap(address, bytes), CUDA_SUCCESS);
  EXPECT(cuMemAddressFree(address, bytes), CUDA_SUCCESS);
  EXPECT(cuMemRelease(imported), CUDA_SUCCESS);
  CHECK_TRUE(free_bytes() == before);

  // A pipe of the program's own is no memory.
  int ends[2];
  CHECK_TRUE(pipe(ends) == 0);
  for (const int end : ends) {
    const auto own = reinterpret_cast<void*>(static_cast<intptr_t>(end));
    EXPECT(cuMemImportFromShareableHandle(&imported, own, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
           CUDA_ERROR_INVALID_VALUE);
    close(end);
  }
}

// Descriptors that were closed are not counted for ever.
static void many_descriptors() {
  const size_t before = free_bytes();
  const auto shared = memory_of(0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  for (int k = 0; k < 300; ++k) {
    CUmemGenericAllocationHandle memory = 0;
    int descriptor = -1;
    EXPECT(cuMemCreate(&memory, 2 << 20, &shared, 0), CUDA_SUCCESS);
    EXPECT(cuMemExportToShareableHandle(&descriptor, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
           CUDA_SUCCESS);
    EXPECT(cuMemRelease(memory), CUDA_SUCCESS);
    close(descriptor);
  }
  CHECK_TRUE(free_bytes() == before);
}

static cudaMemAccessFlags access_of(cudaMemPool_t pool, int device) {
  cudaMemLocation location{};
  location.type = cudaMemLocationTypeDevice;
  location.id = device;
  cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
  CHECK(cudaMemPoolGetAccess(&flags, pool, &location));
  return flags;
}

static void use_from_other(cudaMemPool_t pool) {
  int* value = nullptr;
  CHECK(cudaMallocFromPoolAsync(&value, sizeof *value, pool, nullptr));
  CHECK(cudaMemsetAsync(value, 0, sizeof *value));
  cudaMemAccessDesc access{};
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = 1;
  access.flags = cudaMemAccessFlagsProtReadWrite;
  // Memory that exists already becomes accessible, and what comes later is.
  CHECK(cudaMemPoolSetAccess(pool, &access, 1));
  CHECK_TRUE(access_of(pool, 0) == cudaMemAccessFlagsProtReadWrite);
  CHECK_TRUE(access_of(pool, 1) == cudaMemAccessFlagsProtReadWrite);
  int* later = nullptr;
  CHECK(cudaMallocFromPoolAsync(&later, sizeof *later, pool, nullptr));
  CHECK(cudaMemsetAsync(later, 0, sizeof *later));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaSetDevice(1));
  add<<<1, 1>>>(value, 3);
  add<<<1, 1>>>(later, 4);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaSetDevice(0));
  int got[2] = {};
  CHECK(cudaMemcpy(&got[0], value, sizeof(int), cudaMemcpyDefault));
  CHECK(cudaMemcpy(&got[1], later, sizeof(int), cudaMemcpyDefault));
  CHECK_TRUE(got[0] == 3 && got[1] == 4);
  access.flags = cudaMemAccessFlagsProtNone;
  CHECK(cudaMemPoolSetAccess(pool, &access, 1));
  CHECK_TRUE(access_of(pool, 1) == cudaMemAccessFlagsProtNone);
  access.location.id = 0;
  EXPECT(cudaMemPoolSetAccess(pool, &access, 1), cudaErrorInvalidValue);
  access.location.id = 1000;
  EXPECT(cudaMemPoolSetAccess(pool, &access, 1), cudaErrorInvalidDevice);
  CHECK(cudaFreeAsync(value, nullptr));
  CHECK(cudaFreeAsync(later, nullptr));
}

static void pools() {
  cudaMemPool_t pool = nullptr;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  use_from_other(pool);
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  CHECK(cudaMemPoolCreate(&pool, &properties));
  use_from_other(pool);

  // Memory lies on the pool's device, whatever the stream's is.
  void* memory = nullptr;
  CHECK(cudaSetDevice(1));
  CHECK(cudaMallocFromPoolAsync(&memory, 64, pool, nullptr));
  cudaPointerAttributes attributes{};
  CHECK(cudaPointerGetAttributes(&attributes, memory));
  CHECK_TRUE(attributes.device == 0);
  CHECK(cudaFreeAsync(memory, nullptr));
  CHECK(cudaSetDevice(0));

  // The current pool is that of cudaMallocAsync; its memory has no IPC handle.
  CHECK(cudaDeviceSetMemPool(0, pool));
  CHECK(cudaMallocAsync(&memory, 64, nullptr));
  cudaIpcMemHandle_t handle;
  EXPECT(cudaIpcGetMemHandle(&handle, memory), cudaErrorInvalidValue);
  CHECK(cudaFreeAsync(memory, nullptr));
  CHECK(cudaMemPoolDestroy(pool));
  EXPECT(cudaMallocFromPoolAsync(&memory, 64, pool, nullptr), cudaErrorInvalidValue);
  CHECK(cudaMallocAsync(&memory, 64, nullptr));
  CHECK(cudaFree(memory));
}

static float copy_time(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(begin));
  CHECK(cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, nullptr));
  CHECK(cudaEventRecord(end));
  CHECK(cudaDeviceSynchronize());
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  return milliseconds;
}

// Without peer access a copy takes the way through the host, in either direction; access of one of the two suffices.
static void copies_without_access() {
  const size_t bytes = 8 << 20;
  char *here = nullptr, *there = nullptr;
  CHECK(cudaMalloc(&here, bytes));
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&there, bytes));
  CHECK(cudaMemset(there, 7, bytes));
  CHECK(cudaSetDevice(0));
  const float off = copy_time(here, 0, there, 1, bytes), off_small = copy_time(here, 0, there, 1, 16);
  CHECK(cudaDeviceEnablePeerAccess(1, 0));
  const float on = copy_time(here, 0, there, 1, bytes), on_small = copy_time(here, 0, there, 1, 16);
  const float back = copy_time(there, 1, here, 0, bytes);
  CHECK(cudaDeviceDisablePeerAccess(1));
  const float off_again = copy_time(there, 1, here, 0, bytes);
  CHECK_TRUE(off > 4 * on && off_again > 4 * back);
  CHECK_TRUE(off_small > 1.5f * on_small);
  char got = 0;
  CHECK(cudaMemcpy(&got, here + bytes - 1, 1, cudaMemcpyDefault));
  CHECK_TRUE(got == 7);
  CHECK(cudaFree(here));
  CHECK(cudaFree(there));
}

int main() {
  CHECK(cudaSetDevice(0));
  handle_types();
  descriptors();
  many_descriptors();
  pools();
  copies_without_access();
  if (failures() == 0) std::puts("OK");
  return failures();
}
