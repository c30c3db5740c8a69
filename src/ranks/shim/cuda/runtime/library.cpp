#include <fstream>
#include <iterator>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/modules/module.h"

namespace shim = fb::shim;
using shim::record;

namespace {

cudaError_t add(cudaLibrary_t* library, const shim::Expected<shim::ModulePtr>& module) {
  if (!module) return module.error();
  const auto loaded = (*module)->load();
  if (!loaded) return loaded.error();
  *library = shim::libraries().add(*module);
  return cudaSuccess;
}

cudaError_t load_data(cudaLibrary_t* library, const void* code) {
  if (!library || !code) return cudaErrorInvalidValue;
  if (const auto e = shim::Session::get().connect(); e != cudaSuccess) return e;
  // The program may free what it passed.
  return add(library, shim::Module::from_copy(code));
}

cudaError_t load_file(cudaLibrary_t* library, const char* path) {
  if (!library || !path) return cudaErrorInvalidValue;
  if (const auto e = shim::Session::get().connect(); e != cudaSuccess) return e;
  std::ifstream file(path, std::ios::binary);
  if (!file) return cudaErrorFileNotFound;
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (text.size() < 4) return cudaErrorInvalidKernelImage;
  return load_data(library, text.c_str());
}

shim::Expected<shim::ModulePtr> find(cudaLibrary_t library) {
  if (auto module = shim::libraries().find(library)) return module;
  if (const auto e = shim::Session::get().connect(); e != cudaSuccess) return shim::failure(e);
  return shim::failure(cudaErrorInvalidResourceHandle);
}

}  // namespace

FB_API cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**, unsigned int,
                                       cudaLibraryOption*, void**, unsigned int) {
  return record(load_data(library, code));
}
FB_API cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* file, cudaJitOption*, void**,
                                           unsigned int, cudaLibraryOption*, void**, unsigned int) {
  return record(load_file(library, file));
}
FB_API cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  if (!kernel || !name) return record(cudaErrorInvalidValue);
  const auto module = find(library);
  if (!module) return record(module.error());
  const auto info = (*module)->find_function(name, shim::thread().device);
  if (!info) return record(info.error());
  *kernel = reinterpret_cast<cudaKernel_t>(shim::function_handle(*module, name));
  return cudaSuccess;
}
FB_API cudaError_t cudaLibraryGetKernelCount(unsigned int* count, cudaLibrary_t library) {
  const auto module = find(library);
  return record(module ? shim::count_kernels(count, *module) : module.error());
}
FB_API cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned int most, cudaLibrary_t library) {
  const auto module = find(library);
  return record(module ? shim::list_kernels(reinterpret_cast<cudaFunction_t*>(kernels), most, *module)
                       : module.error());
}
FB_API cudaError_t cudaLibraryGetGlobal(void** pointer, size_t* bytes, cudaLibrary_t library, const char* name) {
  if (!name) return record(cudaErrorInvalidValue);
  const auto module = find(library);
  if (!module) return record(module.error());
  const auto facts = (*module)->find_variable(name, shim::thread().device);
  if (!facts) return record(facts.error());
  if (pointer) *pointer = reinterpret_cast<void*>(facts->address);
  if (bytes) *bytes = facts->bytes;
  return cudaSuccess;
}
FB_API cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  const auto module = shim::libraries().take(library);
  return record(module ? shim::unload_module(module) : find(library).error());
}
