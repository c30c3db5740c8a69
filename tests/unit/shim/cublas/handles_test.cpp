// Handles: which functions take them, modes, streams, where scalars and results are.

#include <cublasLt.h>
#include <cublas_v2.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/unit/shim/requests.h"

namespace {

constexpr int kElements = 64;

// A handle with a stream, and a vector of 1, 2, 3 … on the device.
class Cublas : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cublasCreate(&handle_), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cublasSetStream(handle_, stream_), CUBLAS_STATUS_SUCCESS);
    x_ = make(1);
  }
  void TearDown() override {
    EXPECT_EQ(cublasDestroy(handle_), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    for (float* memory : made_) EXPECT_EQ(cudaFree(memory), cudaSuccess);
  }
  float* make(float step) {
    std::vector<float> host;
    for (int k = 1; k <= kElements; ++k) host.push_back(step * static_cast<float>(k));
    float* device = nullptr;
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&device), kElements * sizeof(float)), cudaSuccess);
    EXPECT_EQ(cublasSetVector(kElements, sizeof(float), host.data(), 1, device, 1), CUBLAS_STATUS_SUCCESS);
    made_.push_back(device);
    return device;
  }
  float first_of(const float* device) {
    float value = 0;
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(cublasGetVector(1, sizeof value, device, 1, &value, 1), CUBLAS_STATUS_SUCCESS);
    return value;
  }

  cublasHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
  float* x_ = nullptr;
  std::vector<float*> made_;
};

// Functions of the tables: those that take a handle are called with this one, and zeros and null pointers behind it.
using Try = std::function<cublasStatus_t(cublasHandle_t)>;
template <class Handle, class... More>
Try with_handle(cublasStatus_t (*function)(Handle, More...)) {
  if constexpr (std::is_same_v<Handle, cublasHandle_t> || std::is_same_v<Handle, cublasLtHandle_t>)
    return [function](cublasHandle_t h) { return function(reinterpret_cast<Handle>(h), More{}...); };
  return nullptr;
}
template <class Function>
Try with_handle(Function*) {
  return nullptr;
}
struct Named {
  std::string name;
  Try call;
};
// The header overloads these; those for sizes of 64 bits stand for both.
#define cublasGemmEx cublasGemmEx_64
#define cublasGemmBatchedEx cublasGemmBatchedEx_64
#define cublasGemmStridedBatchedEx cublasGemmStridedBatchedEx_64
std::vector<Named> functions_of_handles() {
  const Named all[] = {
#define GROUP(title)
#define DECLARED(name)
#define REAL(name) {#name, with_handle(&name)},
#include "common/api/cublas.def"
#include "common/api/cublaslt.def"
#undef REAL
#undef DECLARED
#undef GROUP
  };
  std::vector<Named> some;
  for (const Named& f : all) {
    // Versions are known without a handle.
    if (f.call && f.name != "cublasGetVersion_v2") some.push_back(f);
  }
  return some;
}

TEST_F(Cublas, EveryFunctionRefusesWhatIsNoHandle) {
  cublasHandle_t gone = nullptr;
  ASSERT_EQ(cublasCreate(&gone), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasDestroy(gone), CUBLAS_STATUS_SUCCESS);
  const auto functions = functions_of_handles();
  EXPECT_GT(functions.size(), 100u);
  for (const Named& f : functions) {
    SCOPED_TRACE(f.name);
    for (const cublasHandle_t none : {cublasHandle_t{}, gone, reinterpret_cast<cublasHandle_t>(this)})
      EXPECT_LOCAL(f.call(none), CUBLAS_STATUS_NOT_INITIALIZED);
  }
}

// Where nothing is asked for, there is nothing to do; a null pointer for a result is a mistake.
TEST_F(Cublas, NoFunctionAsksTheMachineForNothing) {
  for (const Named& f : functions_of_handles()) {
    if (f.name.find("Destroy") != std::string::npos) continue;
    SCOPED_TRACE(f.name);
    const size_t before = fb::requests_sent();
    const cublasStatus_t status = f.call(handle_);
    EXPECT_TRUE(status == CUBLAS_STATUS_INVALID_VALUE || status == CUBLAS_STATUS_SUCCESS) << status;
    const bool gives = f.name.find("Get") != std::string::npos || f.name.find("dot") != std::string::npos ||
                       f.name.find("gem") != std::string::npos;
    if (gives) {
      EXPECT_EQ(status, CUBLAS_STATUS_INVALID_VALUE);
    }
    EXPECT_EQ(fb::requests_sent(), before);
  }
}

TEST_F(Cublas, BothLibrariesHaveTheSameHandles) {
  cublasLtHandle_t light = nullptr;
  EXPECT_LOCAL(cublasCreate(nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_LOCAL(cublasLtCreate(nullptr), CUBLAS_STATUS_INVALID_VALUE);
  ASSERT_EQ(cublasLtCreate(&light), CUBLAS_STATUS_SUCCESS);
  cublasMath_t mode{};
  EXPECT_LOCAL(cublasGetMathMode(reinterpret_cast<cublasHandle_t>(light), &mode), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtDestroy(light), CUBLAS_STATUS_SUCCESS);
  EXPECT_LOCAL(cublasLtDestroy(light), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_LOCAL(cublasGetMathMode(reinterpret_cast<cublasHandle_t>(light), &mode), CUBLAS_STATUS_NOT_INITIALIZED);
}

TEST_F(Cublas, MakingAndEndingLeaveTheCurrentDevice) {
  ASSERT_EQ(cudaSetDevice(3), cudaSuccess);
  cublasHandle_t third = nullptr;
  ASSERT_EQ(cublasCreate(&third), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cudaSetDevice(5), cudaSuccess);
  EXPECT_EQ(cublasDestroy(third), CUBLAS_STATUS_SUCCESS);
  int current = -1;
  EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, 5);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

TEST_F(Cublas, ModesKeepWhatTheyWereWhenTheNewOneIsNone) {
  cublasPointerMode_t pointers{};
  EXPECT_LOCAL(cublasSetPointerMode(handle_, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  EXPECT_LOCAL(cublasSetPointerMode(handle_, fb::no_such<cublasPointerMode_t>(2)), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_LOCAL(cublasGetPointerMode(handle_, &pointers), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(pointers, CUBLAS_POINTER_MODE_DEVICE);
  cublasMath_t math{};
  const auto reduced =
      static_cast<cublasMath_t>(CUBLAS_TF32_TENSOR_OP_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
  EXPECT_LOCAL(cublasSetMathMode(handle_, reduced), CUBLAS_STATUS_SUCCESS);
  EXPECT_LOCAL(cublasSetMathMode(handle_, fb::no_such<cublasMath_t>(9)), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_LOCAL(cublasGetMathMode(handle_, &math), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(math, reduced);
  int count = -1;
  EXPECT_LOCAL(cublasSetSmCountTarget(handle_, 12), CUBLAS_STATUS_SUCCESS);
  EXPECT_LOCAL(cublasSetSmCountTarget(handle_, -1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_LOCAL(cublasGetSmCountTarget(handle_, &count), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(count, 12);
}

TEST_F(Cublas, AWorkspaceIsAligned) {
  auto* const bytes = reinterpret_cast<char*>(x_);
  EXPECT_LOCAL(cublasSetWorkspace(handle_, bytes, 128), CUBLAS_STATUS_SUCCESS);
  EXPECT_LOCAL(cublasSetWorkspace(handle_, bytes + 16, 128), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_LOCAL(cublasSetWorkspace(handle_, nullptr, 128), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_LOCAL(cublasSetWorkspace(handle_, nullptr, 0), CUBLAS_STATUS_SUCCESS);
}

TEST_F(Cublas, AStreamThatIsGoneIsFoundByTheCall) {
  cudaStream_t stream = nullptr, kept = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cublasSetStream(handle_, stream), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  const float two = 2;
  EXPECT_LOCAL(cublasSscal(handle_, kElements, &two, x_, 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_LOCAL(cublasGetStream(handle_, &kept), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(kept, stream);
  ASSERT_EQ(cublasSetStream(handle_, stream_), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasSscal(handle_, kElements, &two, x_, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(first_of(x_), 2);
}

// A number of the host is read by the call, one of the device when the work runs.
TEST_F(Cublas, PointerModesSayWhenScalarsAreRead) {
  float number = 3;
  EXPECT_EQ(cublasSscal(handle_, kElements, &number, x_, 1), CUBLAS_STATUS_SUCCESS);
  number = 100;
  EXPECT_EQ(first_of(x_), 3);
  float* const scalar = make(5);  // begins with 5
  ASSERT_EQ(cublasSetPointerMode(handle_, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  const float seven = 7;
  ASSERT_EQ(cudaMemcpyAsync(scalar, &seven, sizeof seven, cudaMemcpyDefault, stream_), cudaSuccess);
  EXPECT_EQ(cublasSscal(handle_, kElements, scalar, x_, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(first_of(x_), 21);
}

TEST_F(Cublas, PointerModesSayWhoWaitsForResults) {
  float* const result = make(0);
  float host = 0;
  int index = 0;
  EXPECT_EQ(cublasSasum(handle_, kElements, x_, 1, &host), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(host, kElements * (kElements + 1) / 2);
  EXPECT_EQ(cublasIsamax(handle_, kElements, x_, 1, &index), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(index, kElements) << "counted from 1";
  EXPECT_EQ(cublasIsamax(handle_, 0, x_, 1, &index), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(index, 0) << "of nothing";
  ASSERT_EQ(cublasSetPointerMode(handle_, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasSasum(handle_, kElements, x_, 1, result), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(first_of(result), host);
}

TEST_F(Cublas, CopiesCheckTheirSteps) {
  float host[4] = {};
  const auto wrong = CUBLAS_STATUS_INVALID_VALUE;
  EXPECT_LOCAL(cublasSetVector(4, 0, host, 1, x_, 1), wrong);
  EXPECT_LOCAL(cublasSetVector(4, 4, host, 0, x_, 1), wrong);
  EXPECT_LOCAL(cublasGetVector(4, 4, x_, 1, host, -1), wrong);
  EXPECT_LOCAL(cublasSetVector(0, 4, host, 1, x_, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_LOCAL(cublasSetMatrix(2, 2, 4, host, 1, x_, 2), wrong);  // columns would overlap
  EXPECT_LOCAL(cublasGetMatrix(-1, 2, 4, x_, 2, host, 2), wrong);
  EXPECT_EQ(cublasGetVector(2, 4, x_, 3, host, 2), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(std::vector<float>(host, host + 4), (std::vector<float>{1, 0, 4, 0}));
}

// Descriptors: attributes have sizes, and those that are asked for are what was set.
TEST(CublasLtDescriptors, AttributesAreKept) {
  cublasLtMatrixLayout_t layout = nullptr;
  ASSERT_EQ(cublasLtMatrixLayoutCreate(&layout, CUDA_R_16F, 8, 4, 8), CUBLAS_STATUS_SUCCESS);
  const auto wrong = CUBLAS_STATUS_INVALID_VALUE;
  int32_t batches = 6;
  size_t written = 0;
  const auto set = [&](cublasLtMatrixLayoutAttribute_t which, const void* from, size_t size) {
    return cublasLtMatrixLayoutSetAttribute(layout, which, from, size);
  };
  EXPECT_LOCAL(set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, sizeof batches), CUBLAS_STATUS_SUCCESS);
  EXPECT_LOCAL(set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, 2), wrong);
  EXPECT_LOCAL(set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, nullptr, sizeof batches), wrong);
  EXPECT_LOCAL(set(fb::no_such<cublasLtMatrixLayoutAttribute_t>(99), &batches, sizeof batches), wrong);
  const auto get = [&](void* to, size_t size, size_t* bytes) {
    return cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, to, size, bytes);
  };
  EXPECT_LOCAL(get(nullptr, 0, &written), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(written, sizeof batches);
  EXPECT_LOCAL(get(nullptr, 0, nullptr), wrong);
  EXPECT_LOCAL(get(&batches, 2, &written), wrong);
  batches = 0;
  EXPECT_LOCAL(get(&batches, sizeof batches, nullptr), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(batches, 6);
  EXPECT_LOCAL(cublasLtMatrixLayoutDestroy(layout), CUBLAS_STATUS_SUCCESS);
  EXPECT_LOCAL(cublasLtMatrixLayoutDestroy(nullptr), CUBLAS_STATUS_SUCCESS);
  EXPECT_LOCAL(cublasLtMatrixLayoutCreate(nullptr, CUDA_R_16F, 8, 4, 8), wrong);
  EXPECT_LOCAL(cublasLtMatmulPreferenceCreate(nullptr), wrong);
  cublasLtMatmulDesc_t desc = nullptr;
  EXPECT_LOCAL(cublasLtMatmulDescCreate(&desc, fb::no_such<cublasComputeType_t>(5), CUDA_R_32F), wrong);
  EXPECT_EQ(desc, nullptr);
}

}  // namespace
