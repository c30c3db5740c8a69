// A fatbin in a file, by the driver API: cuModuleLoad, cuModuleLoadData and cuLibraryLoadData take it.
#include <cuda.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

static int fail(const char* what, CUresult error) {
  std::printf("%s: %d\n", what, static_cast<int>(error));
  return 1;
}
#define CHECK(call) \
  if (const CUresult error = call; error != CUDA_SUCCESS) return fail(#call, error)

int main(int, char** words) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  std::ifstream file(words[1], std::ios::binary);
  const std::vector<char> image((std::istreambuf_iterator<char>(file)), {});
  CUmodule from_file = nullptr, from_memory = nullptr;
  CUlibrary library = nullptr;
  CHECK(cuModuleLoad(&from_file, words[1]));
  CHECK(cuModuleLoadData(&from_memory, image.data()));
  CHECK(cuLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  unsigned int counts[3] = {};
  CHECK(cuModuleGetFunctionCount(&counts[0], from_file));
  CHECK(cuModuleGetFunctionCount(&counts[1], from_memory));
  CHECK(cuLibraryGetKernelCount(&counts[2], library));
  std::printf("kernels: %u %u %u\n", counts[0], counts[1], counts[2]);
}
