// Devices, contexts, streams and events of the driver API.

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "tests/unit/shim/machine_process.h"

namespace {

// The tests of this program share a machine and a current context on device 0.
class Machine : public testing::Environment {
 public:
  void SetUp() override {
    machine_.emplace("h100x8");
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    CUcontext current = reinterpret_cast<CUcontext>(this);
    ASSERT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
    ASSERT_EQ(current, nullptr) << "cuInit makes no context current";
    CUdeviceptr pointer = 0;
    ASSERT_EQ(cuMemAlloc(&pointer, 16), CUDA_ERROR_INVALID_CONTEXT);
    CUcontext context = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  }
  // The library's connections end with the process, after the machine.
  void TearDown() override { machine_.reset(); }

 private:
  std::optional<fb::MachineProcess> machine_;
};
[[maybe_unused]] testing::Environment* const kMachine = testing::AddGlobalTestEnvironment(new Machine);

TEST(DriverDevice, EightOfThem) {
  int count = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 8);
  CUdevice device = -1;
  EXPECT_EQ(cuDeviceGet(&device, 7), CUDA_SUCCESS);
  EXPECT_EQ(cuDeviceGet(&device, 8), CUDA_ERROR_INVALID_DEVICE);
  CUuuid first{}, last{};
  EXPECT_EQ(cuDeviceGetUuid(&first, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuDeviceGetUuid(&last, 7), CUDA_SUCCESS);
  EXPECT_NE(std::memcmp(&first, &last, sizeof first), 0);
  int can = 0;
  EXPECT_EQ(cuDeviceCanAccessPeer(&can, 0, 7), CUDA_SUCCESS);
  EXPECT_EQ(can, 1);
}

TEST(DriverDevice, AttributesAgreeWithTheRuntime) {
  for (const CUdevice_attribute attribute :
       {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, CU_DEVICE_ATTRIBUTE_WARP_SIZE}) {
    int mine = 0, theirs = 0;
    EXPECT_EQ(cuDeviceGetAttribute(&mine, attribute, 0), CUDA_SUCCESS);
    EXPECT_EQ(cudaDeviceGetAttribute(&theirs, static_cast<cudaDeviceAttr>(attribute), 0), cudaSuccess);
    EXPECT_EQ(mine, theirs);
    EXPECT_GT(mine, 0);
  }
  int multicast = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&multicast, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0), CUDA_SUCCESS);
  EXPECT_EQ(multicast, 1);
  EXPECT_EQ(cuDeviceGetAttribute(&multicast, static_cast<CUdevice_attribute>(200), 0), CUDA_ERROR_INVALID_VALUE);
}

TEST(DriverContext, PushAndPopChangeTheDevice) {
  CUcontext second = nullptr, popped = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&second, 2), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPushCurrent(second), CUDA_SUCCESS);
  CUdevice device = -1;
  EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 2);
  int runtime = -1;
  EXPECT_EQ(cudaGetDevice(&runtime), cudaSuccess);
  EXPECT_EQ(runtime, 2);
  EXPECT_EQ(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, second);
  EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(2), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(2), CUDA_ERROR_INVALID_CONTEXT);
}

TEST(DriverContext, EveryThreadHasItsOwn) {
  std::thread([] {
    CUcontext current = nullptr;
    EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, nullptr);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    // Using the runtime makes one current.
    EXPECT_EQ(cudaSetDevice(3), cudaSuccess);
    CUdevice device = -1;
    EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
    EXPECT_EQ(device, 3);
  }).join();
}

TEST(DriverContext, PeerAccessIsEnabledOnce) {
  CUcontext peer = nullptr, mine = nullptr;
  ASSERT_EQ(cuCtxGetCurrent(&mine), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&peer, 5), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDisablePeerAccess(peer), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_EQ(cuCtxEnablePeerAccess(peer, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxEnablePeerAccess(peer, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(cuCtxEnablePeerAccess(mine, 0), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuCtxEnablePeerAccess(reinterpret_cast<CUcontext>(&peer), 0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST(DriverStream, IsTheRuntimesStream) {
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  CUdevice device = -1;
  EXPECT_EQ(cuStreamGetDevice(stream, &device), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  unsigned int flags = 0;
  EXPECT_EQ(cuStreamGetFlags(stream, &flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, static_cast<unsigned int>(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
  // The driver's errors are not the runtime's last error.
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(DriverEvent, MeasuresTime) {
  CUevent begin = nullptr, end = nullptr;
  ASSERT_EQ(cuEventCreate(&begin, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&end, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end), CUDA_ERROR_INVALID_HANDLE);
  CUdeviceptr pointer = 0;
  ASSERT_EQ(cuMemAlloc(&pointer, 1 << 20), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(begin, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(pointer, 7, 1 << 18, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(end, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end), CUDA_SUCCESS);
  EXPECT_GT(milliseconds, 0);
  EXPECT_EQ(cuEventDestroy(begin), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(begin), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventDestroy(end), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(pointer), CUDA_SUCCESS);
}

TEST(DriverStream, WaitsForAValueThatAnotherWrites) {
  CUdeviceptr flag = 0;
  ASSERT_EQ(cuMemAlloc(&flag, 16), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD32(flag, 0, 4), CUDA_SUCCESS);
  // The other streams do not wait for the default one.
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  CUstream waiter = nullptr, writer = nullptr;
  ASSERT_EQ(cuStreamCreate(&waiter, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&writer, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32(waiter, flag, 5, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(flag + 4, 9, 1, waiter), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(waiter), CUDA_ERROR_NOT_READY);
  CUstreamBatchMemOpParams operations[2] = {};
  operations[0].operation = CU_STREAM_MEM_OP_BARRIER;
  operations[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operations[1].writeValue.address = flag;
  operations[1].writeValue.value = 6;
  EXPECT_EQ(cuStreamBatchMemOp(writer, 2, operations, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(waiter), CUDA_SUCCESS);
  unsigned int got[2] = {};
  EXPECT_EQ(cuMemcpyDtoH(got, flag, sizeof got), CUDA_SUCCESS);
  EXPECT_EQ(got[0], 6u);
  EXPECT_EQ(got[1], 9u);
  EXPECT_EQ(cuStreamWaitValue32(waiter, flag + 2, 5, 0), CUDA_ERROR_INVALID_VALUE) << "not aligned";
  int pageable = 0;
  EXPECT_EQ(cuStreamWriteValue32(waiter, reinterpret_cast<CUdeviceptr>(&pageable), 5, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamDestroy(waiter), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(writer), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(flag), CUDA_SUCCESS);
}

TEST(DriverDeclared, AnswersNotSupported) {
  void* function = nullptr;
  ASSERT_EQ(cuGetProcAddress("cuTexRefDestroy", &function, 13000, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(reinterpret_cast<CUresult (*)(void*)>(function)(nullptr), CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace
