// Memory of the driver API: pointers, copies, physical memory, multicast objects.

#include <cuda.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <vector>

namespace {

CUmemAllocationProp properties_of(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return properties;
}

constexpr size_t kPiece = 2 << 20;

TEST(DriverMemory, CopiesARectangle) {
  CUdeviceptr matrix = 0;
  size_t pitch = 0;
  ASSERT_EQ(cuMemAllocPitch(&matrix, &pitch, 100, 10, 4), CUDA_SUCCESS);
  ASSERT_GE(pitch, 100u);
  std::vector<unsigned char> rows(100 * 10);
  std::iota(rows.begin(), rows.end(), static_cast<unsigned char>(1));
  CUDA_MEMCPY2D in{};
  in.srcMemoryType = CU_MEMORYTYPE_HOST;
  in.srcHost = rows.data();
  in.srcPitch = 100;
  in.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  in.dstDevice = matrix;
  in.dstPitch = pitch;
  in.WidthInBytes = 100;
  in.Height = 10;
  EXPECT_EQ(cuMemcpy2D(&in), CUDA_SUCCESS);
  // Three rows of five bytes from the middle.
  unsigned char piece[15] = {};
  CUDA_MEMCPY2D out{};
  out.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  out.srcDevice = matrix;
  out.srcPitch = pitch;
  out.srcXInBytes = 20;
  out.srcY = 4;
  out.dstMemoryType = CU_MEMORYTYPE_HOST;
  out.dstHost = piece;
  out.dstPitch = 5;
  out.WidthInBytes = 5;
  out.Height = 3;
  EXPECT_EQ(cuMemcpy2D(&out), CUDA_SUCCESS);
  for (size_t y = 0; y < 3; ++y) EXPECT_EQ(std::memcmp(piece + 5 * y, rows.data() + 100 * (4 + y) + 20, 5), 0) << y;
  out.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  EXPECT_EQ(cuMemcpy2D(&out), CUDA_ERROR_INVALID_HANDLE);  // there is no array
  EXPECT_EQ(cuMemFree(matrix), CUDA_SUCCESS);
}

TEST(DriverMemory, DescribesPointers) {
  CUdeviceptr pointer = 0, base = 0;
  size_t bytes = 0;
  ASSERT_EQ(cuMemAlloc(&pointer, 4096), CUDA_SUCCESS);
  EXPECT_EQ(cuMemGetAddressRange(&base, &bytes, pointer + 100), CUDA_SUCCESS);
  EXPECT_EQ(base, pointer);
  EXPECT_EQ(bytes, 4096u);
  unsigned int type = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer), CUDA_SUCCESS);
  EXPECT_EQ(type, static_cast<unsigned int>(CU_MEMORYTYPE_DEVICE));
  void* host = nullptr;
  EXPECT_EQ(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, pointer), CUDA_ERROR_INVALID_VALUE);
  void* pinned = nullptr;
  ASSERT_EQ(cuMemHostAlloc(&pinned, 4096, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
  EXPECT_EQ(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, reinterpret_cast<CUdeviceptr>(pinned)),
            CUDA_SUCCESS);
  EXPECT_EQ(host, pinned);
  int pageable = 0, ordinal = 0;
  const auto address = reinterpret_cast<CUdeviceptr>(&pageable);
  EXPECT_EQ(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemGetAddressRange(&base, &bytes, address), CUDA_ERROR_NOT_FOUND);
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* values[] = {&ordinal};
  EXPECT_EQ(cuPointerGetAttributes(1, attributes, values, address), CUDA_SUCCESS);
  EXPECT_EQ(ordinal, CU_DEVICE_INVALID);
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(pointer), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(pointer), CUDA_ERROR_INVALID_VALUE) << "freed twice";
}

TEST(DriverVirtualMemory, MapsExportsAndImports) {
  const CUmemAllocationProp properties = properties_of(1);
  size_t granularity = 0;
  ASSERT_EQ(cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM), CUDA_SUCCESS);
  EXPECT_EQ(granularity, kPiece);
  CUmemGenericAllocationHandle memory = 0, again = 0, retained = 0;
  ASSERT_EQ(cuMemCreate(&memory, kPiece, &properties, 0), CUDA_SUCCESS);
  int descriptor = -1;
  ASSERT_EQ(cuMemExportToShareableHandle(&descriptor, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(cuMemImportFromShareableHandle(&again, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_SUCCESS);
  ::close(descriptor);
  EXPECT_EQ(cuMemImportFromShareableHandle(&again, reinterpret_cast<void*>(intptr_t{9999}),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_ERROR_INVALID_VALUE);

  // The same memory at two addresses.
  CUdeviceptr range = 0;
  ASSERT_EQ(cuMemAddressReserve(&range, 2 * kPiece, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(range, kPiece, 0, memory, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(range + kPiece, kPiece, 0, again, 0), CUDA_SUCCESS);
  const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  ASSERT_EQ(cuMemSetAccess(range, 2 * kPiece, &access, 1), CUDA_SUCCESS);
  unsigned long long flags = 0;
  EXPECT_EQ(cuMemGetAccess(&flags, &access.location, range), CUDA_SUCCESS);
  EXPECT_EQ(flags, static_cast<unsigned long long>(CU_MEM_ACCESS_FLAGS_PROT_READWRITE));

  CUcontext second = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&second, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPushCurrent(second), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(range, 42, 16), CUDA_SUCCESS);
  unsigned char seen[16] = {};
  EXPECT_EQ(cuMemcpyDtoH(seen, range + kPiece, sizeof seen), CUDA_SUCCESS);
  EXPECT_EQ(seen[0], 42);
  EXPECT_EQ(seen[15], 42);
  ASSERT_EQ(cuCtxPopCurrent(nullptr), CUDA_SUCCESS);

  EXPECT_EQ(cuMemRetainAllocationHandle(&retained, reinterpret_cast<void*>(range)), CUDA_SUCCESS);
  CUmemAllocationProp known{};
  EXPECT_EQ(cuMemGetAllocationPropertiesFromHandle(&known, retained), CUDA_SUCCESS);
  EXPECT_EQ(known.location.id, 1);
  EXPECT_EQ(known.requestedHandleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  EXPECT_EQ(cuMemRelease(retained), CUDA_SUCCESS);
  EXPECT_EQ(cuMemUnmap(range, 2 * kPiece), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(range, 2 * kPiece), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
}

TEST(DriverVirtualMemory, WrongUseIsAnInvalidValue) {
  CUmemAllocationProp properties = properties_of(0);
  CUmemGenericAllocationHandle memory = 0;
  EXPECT_EQ(cuMemCreate(&memory, 4096, &properties, 0), CUDA_ERROR_INVALID_VALUE) << "not the granularity";
  properties.location.id = 8;
  EXPECT_EQ(cuMemCreate(&memory, kPiece, &properties, 0), CUDA_ERROR_INVALID_DEVICE);
  properties.location.id = 0;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_WIN32;
  EXPECT_EQ(cuMemCreate(&memory, kPiece, &properties, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMemRelease(123456), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr range = 0;
  EXPECT_EQ(cuMemAddressReserve(&range, kPiece + 1, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemMap(0x1000, kPiece, 0, 123456, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST(DriverMulticast, BindsMemoryOfItsDevices) {
  CUmulticastObjectProp wanted{};
  wanted.numDevices = 2;
  wanted.size = kPiece;
  size_t granularity = 0;
  ASSERT_EQ(cuMulticastGetGranularity(&granularity, &wanted, CU_MULTICAST_GRANULARITY_RECOMMENDED), CUDA_SUCCESS);
  EXPECT_EQ(granularity, kPiece);
  CUmemGenericAllocationHandle multicast = 0, memory = 0;
  ASSERT_EQ(cuMulticastCreate(&multicast, &wanted), CUDA_SUCCESS);
  const CUmemAllocationProp properties = properties_of(0);
  ASSERT_EQ(cuMemCreate(&memory, kPiece, &properties, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastAddDevice(multicast, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastAddDevice(multicast, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastBindMem(multicast, 0, memory, 0, kPiece, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastUnbind(multicast, 0, 0, kPiece), CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastAddDevice(multicast, 9), CUDA_ERROR_INVALID_DEVICE);
  wanted.numDevices = 0;
  EXPECT_EQ(cuMulticastCreate(&multicast, &wanted), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(multicast), CUDA_SUCCESS);
}

}  // namespace
