// What the driver API answers without a machine.

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace {

TEST(DriverAlone, CallsBeforeInitialisationAreRefused) {
  int count = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
  CUdeviceptr pointer = 0;
  EXPECT_EQ(cuMemAlloc(&pointer, 16), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_NOT_INITIALIZED);
}

TEST(DriverAlone, KnowsItsVersion) {
  int version = 0;
  EXPECT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_EQ(version, 13000);
  EXPECT_EQ(cuDriverGetVersion(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST(DriverAlone, NamesErrors) {
  const char* text = nullptr;
  EXPECT_EQ(cuGetErrorName(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED");
  EXPECT_EQ(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "invalid argument");
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(99), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
}

void* find(const char* name, int version) {
  void* function = nullptr;
  cuGetProcAddress(name, &function, version, CU_GET_PROC_ADDRESS_DEFAULT, nullptr);
  return function;
}

TEST(DriverAlone, FindsFunctionsByNameAndBySymbol) {
  EXPECT_EQ(find("cuMemAlloc", 13000), reinterpret_cast<void*>(&cuMemAlloc));
  EXPECT_EQ(find("cuMemAlloc_v2", 13000), reinterpret_cast<void*>(&cuMemAlloc_v2));
  EXPECT_EQ(find("cuGraphInstantiate", 13000), reinterpret_cast<void*>(&cuGraphInstantiateWithFlags));
  // A second version that is a function of its own.
  EXPECT_EQ(find("cuCtxGetDevice", 13000), reinterpret_cast<void*>(&cuCtxGetDevice));
  // Declared functions are there as well.
  EXPECT_NE(find("cuTexObjectCreate", 13000), nullptr);
}

TEST(DriverAlone, OlderProgramsGetOlderFunctions) {
  EXPECT_NE(find("cuCtxCreate", 12000), find("cuCtxCreate", 13000));
  EXPECT_EQ(find("cuCtxCreate", 13000), reinterpret_cast<void*>(&cuCtxCreate_v4));
  using First = CUresult (*)(const char*, void**, int, cuuint64_t);
  const auto first = reinterpret_cast<First>(find("cuGetProcAddress", 11030));
  void* function = nullptr;
  EXPECT_EQ(first("cuInit", &function, 11030, 0), CUDA_SUCCESS);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuInit));
}

TEST(DriverAlone, SaysWhatItDoesNotHave) {
  void* function = &function;
  CUdriverProcAddressQueryResult result{};
  EXPECT_EQ(cuGetProcAddress("cuNonsense", &function, 13000, 0, &result), CUDA_SUCCESS);
  EXPECT_EQ(result, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(cuGetProcAddress("cuNonsense", &function, 13000, 0, nullptr), CUDA_ERROR_NOT_FOUND);
}

struct TiledMap {
  CUtensorMap map{};
  cuuint64_t dims[2] = {64, 32}, strides[1] = {128};
  cuuint32_t box[2] = {64, 8}, steps[2] = {1, 1};
  alignas(16) char tensor[16] = {};

  CUresult encode(void* address = nullptr) {
    return cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, address ? address : tensor, dims, strides,
                                  box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                  CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  }
};

TEST(DriverAlone, EncodesTensorMaps) {
  TiledMap one, other;
  EXPECT_EQ(one.encode(), CUDA_SUCCESS);
  EXPECT_EQ(other.encode(one.tensor), CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(&one.map, &other.map, sizeof one.map), 0);
  EXPECT_EQ(cuTensorMapReplaceAddress(&other.map, other.tensor), CUDA_SUCCESS);
  EXPECT_NE(std::memcmp(&one.map, &other.map, sizeof one.map), 0);
}

TEST(DriverAlone, RefusesTensorMapsThatNoCopyCouldUse) {
  TiledMap wide;
  wide.box[0] = 128;  // 256 bytes: more than the swizzle spans
  EXPECT_EQ(wide.encode(), CUDA_ERROR_INVALID_VALUE);
  TiledMap huge;
  huge.box[1] = 65536 + 8;  // would fit in 16 bits by wrapping
  EXPECT_EQ(huge.encode(), CUDA_ERROR_INVALID_VALUE);
  TiledMap skewed;
  EXPECT_EQ(skewed.encode(skewed.tensor + 8), CUDA_ERROR_INVALID_VALUE);
}

TEST(DriverAlone, ThereIsNoDeviceWithoutAMachine) {
  ::unsetenv("FABRICBENCH_SOCKET");
  EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE);
}

}  // namespace
