// Modules, launches, occupancy and graphs of the driver API.

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tests/unit/shim/cuda/add_kernel.h"

namespace {

using fb::kAddKernel;

class DriverModule : public testing::Test {
 protected:
  void SetUp() override {
    // The text may go as soon as it has been loaded.
    std::string text = kAddKernel;
    ASSERT_EQ(cuModuleLoadData(&module_, text.c_str()), CUDA_SUCCESS);
    std::memset(text.data(), '!', text.size());
    ASSERT_EQ(cuModuleGetFunction(&add_, module_, "add"), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetGlobal(&counter_, &bytes_, module_, "counter"), CUDA_SUCCESS);
  }
  void TearDown() override { EXPECT_EQ(cuModuleUnload(module_), CUDA_SUCCESS); }

  unsigned int count() {
    unsigned int value = 0;
    EXPECT_EQ(cuMemcpyDtoH(&value, counter_, sizeof value), CUDA_SUCCESS);
    return value;
  }

  CUmodule module_ = nullptr;
  CUfunction add_ = nullptr;
  CUdeviceptr counter_ = 0;
  size_t bytes_ = 0;
  unsigned int one_ = 1;
  void* arguments_[2] = {&counter_, &one_};
};

TEST_F(DriverModule, LaunchesWithArgumentsOrABuffer) {
  EXPECT_EQ(bytes_, 4u);
  EXPECT_EQ(count(), 5u);
  EXPECT_EQ(cuLaunchKernel(add_, 2, 1, 1, 32, 1, 1, 0, nullptr, arguments_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(count(), 69u);
  struct {
    CUdeviceptr to;
    unsigned int value;
  } buffer = {counter_, 10};
  size_t size = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  EXPECT_EQ(cuLaunchKernel(add_, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra), CUDA_SUCCESS);
  EXPECT_EQ(count(), 79u);
}

TEST_F(DriverModule, LaunchesWithAttributes) {
  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attributes[0].value.clusterDim = {2, 1, 1};
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attributes[1].value.cooperative = 1;
  CUlaunchConfig config{4, 1, 1, 8, 1, 1, 0, nullptr, attributes, 2};
  EXPECT_EQ(cuLaunchKernelEx(&config, add_, arguments_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(count(), 37u);
  int clusters = 0;
  config.numAttrs = 1;
  EXPECT_EQ(cuOccupancyMaxActiveClusters(&clusters, add_, &config), CUDA_SUCCESS);
  EXPECT_GT(clusters, 0);
  EXPECT_EQ(cuLaunchKernelEx(nullptr, add_, arguments_, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverModule, WrongLaunchesAreRefused) {
  EXPECT_EQ(cuLaunchKernel(add_, 1, 1, 1, 2048, 1, 1, 0, nullptr, arguments_, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments_, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLaunchKernel(add_, 1, 1, 1, 1, 1, 1, 1 << 20, nullptr, arguments_, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUfunction other = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&other, module_, "subtract"), CUDA_ERROR_NOT_FOUND);
  CUdeviceptr variable = 0;
  EXPECT_EQ(cuModuleGetGlobal(&variable, nullptr, module_, "nothing"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(count(), 5u);
}

TEST_F(DriverModule, TellsAndTakesAttributes) {
  int value = 0;
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add_), CUDA_SUCCESS);
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(cuFuncSetAttribute(add_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, add_), CUDA_SUCCESS);
  EXPECT_EQ(value, 100 << 10);
  size_t offset = 0, bytes = 0;
  EXPECT_EQ(cuFuncGetParamInfo(add_, 1, &offset, &bytes), CUDA_SUCCESS);
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(cuFuncGetParamInfo(add_, 2, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
  int blocks = 0, grid = 0, block = 0;
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add_, 1024, 0), CUDA_SUCCESS);
  EXPECT_GT(blocks, 0);
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, add_, nullptr, 0, 512), CUDA_SUCCESS);
  EXPECT_EQ(block, 512);
  CUmodule module = nullptr;
  EXPECT_EQ(cuFuncGetModule(&module, add_), CUDA_SUCCESS);
  EXPECT_EQ(module, module_);
}

TEST_F(DriverModule, WrongTextIsRefusedAtOnce) {
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\nnonsense"), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(cuModuleLoad(&module, "/nowhere.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(cuModuleUnload(reinterpret_cast<CUmodule>(&module)), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverModule, LinkingOnePieceGivesThatPiece) {
  CUlinkState link = nullptr;
  ASSERT_EQ(cuLinkCreate(0, nullptr, nullptr, &link), CUDA_SUCCESS);
  std::string text = kAddKernel;
  EXPECT_EQ(cuLinkAddData(link, CU_JIT_INPUT_PTX, text.data(), text.size(), "add", 0, nullptr, nullptr), CUDA_SUCCESS);
  void* image = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(cuLinkComplete(link, &image, &bytes), CUDA_SUCCESS);
  EXPECT_STREQ(static_cast<const char*>(image), kAddKernel);
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, image), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkDestroy(link), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkDestroy(link), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

TEST_F(DriverModule, SeveralPiecesAreLinked) {
  const std::string head = ".version 8.0\n.target sm_90\n.address_size 64\n";
  std::string kernel = head + ".extern .func f();\n.visible .entry k() { call f; ret; }\n";
  std::string function = head + ".visible .func f() { ret; }\n";
  CUlinkState link = nullptr;
  ASSERT_EQ(cuLinkCreate(0, nullptr, nullptr, &link), CUDA_SUCCESS);
  const auto add = [&](std::string& text) {
    return cuLinkAddData(link, CU_JIT_INPUT_PTX, text.data(), text.size() + 1, "", 0, nullptr, nullptr);
  };
  EXPECT_EQ(add(kernel), CUDA_SUCCESS);
  EXPECT_EQ(add(function), CUDA_SUCCESS);
  void* image = nullptr;
  ASSERT_EQ(cuLinkComplete(link, &image, nullptr), CUDA_SUCCESS);
  CUmodule module = nullptr;
  CUfunction found = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, image), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunction(&found, module, "k"), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  // A function twice does not link.
  EXPECT_EQ(add(function), CUDA_SUCCESS);
  EXPECT_NE(cuLinkComplete(link, &image, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkDestroy(link), CUDA_SUCCESS);
}

TEST_F(DriverModule, LibrariesAreModules) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  ASSERT_EQ(cuLibraryLoadData(&library, kAddKernel, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "add"), CUDA_SUCCESS);
  CUfunction function = nullptr;
  EXPECT_EQ(cuKernelGetFunction(&function, kernel), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 3, 1, 1, 0, nullptr, arguments_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(count(), 8u);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
  EXPECT_EQ(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverModule, ListsItsKernels) {
  const std::string text = std::string(kAddKernel) +
                           ".visible .entry second()\n{\n  ret;\n}\n"
                           ".func helper()\n{\n  ret;\n}\n";
  CUmodule module = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, text.c_str()), CUDA_SUCCESS);
  unsigned int kernels = 0;
  EXPECT_EQ(cuModuleGetFunctionCount(&kernels, module), CUDA_SUCCESS);
  EXPECT_EQ(kernels, 2u) << "device functions are no kernels";
  CUfunction list[3] = {nullptr, nullptr, nullptr};
  EXPECT_EQ(cuModuleEnumerateFunctions(list, 3, module), CUDA_SUCCESS);
  const char* name = nullptr;
  EXPECT_EQ(cuFuncGetName(&name, list[1]), CUDA_SUCCESS);
  EXPECT_STREQ(name, "second");
  EXPECT_EQ(list[2], nullptr);
  EXPECT_EQ(cuLaunchKernel(list[0], 1, 1, 1, 2, 1, 1, 0, nullptr, arguments_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(count(), 7u);
  EXPECT_EQ(cuModuleEnumerateFunctions(nullptr, 1, module), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunctionCount(&kernels, module), CUDA_ERROR_INVALID_HANDLE);

  cudaLibrary_t library = nullptr;
  ASSERT_EQ(cudaLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
  kernels = 0;
  EXPECT_EQ(cudaLibraryGetKernelCount(&kernels, library), cudaSuccess);
  EXPECT_EQ(kernels, 2u);
  EXPECT_EQ(cuLibraryGetKernelCount(&kernels, reinterpret_cast<CUlibrary>(library)), CUDA_SUCCESS);
  EXPECT_EQ(kernels, 2u);
  cudaKernel_t first = nullptr;
  CUkernel same = nullptr;
  EXPECT_EQ(cudaLibraryEnumerateKernels(&first, 1, library), cudaSuccess);
  EXPECT_EQ(cuLibraryEnumerateKernels(&same, 1, reinterpret_cast<CUlibrary>(library)), CUDA_SUCCESS);
  EXPECT_EQ(cuKernelGetName(&name, same), CUDA_SUCCESS);
  EXPECT_STREQ(name, "add");
  EXPECT_EQ(reinterpret_cast<CUkernel>(first), same);
  EXPECT_EQ(cudaLibraryGetKernelCount(nullptr, library), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLibraryUnload(library), cudaSuccess);
}

TEST_F(DriverModule, CapturesAndReplays) {
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(add_, 1, 1, 1, 4, 1, 1, 0, stream, arguments_, nullptr), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  // One more node by hand, behind the captured one.
  CUgraphNode first = nullptr, second = nullptr;
  size_t nodes = 1;
  ASSERT_EQ(cuGraphGetNodes(graph, &first, &nodes), CUDA_SUCCESS);
  CUDA_KERNEL_NODE_PARAMS parameters{};
  parameters.func = add_;
  parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
  parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
  parameters.kernelParams = arguments_;
  EXPECT_EQ(cuGraphAddKernelNode(&second, graph, &first, 1, &parameters), CUDA_SUCCESS);
  CUgraphNodeType type{};
  EXPECT_EQ(cuGraphNodeGetType(second, &type), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(count(), 5u) << "nothing has run yet";
  for (int k = 0; k < 3; ++k) EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(count(), 20u);
  EXPECT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

}  // namespace
