// Modules and libraries are the same thing here: text of device code with one handle.

#include "ranks/shim/cuda/modules/module.h"

#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/driver/driver.h"

using namespace fb::shim;

namespace {

CUlibrary library_of(CUmodule module) { return reinterpret_cast<CUlibrary>(module); }
CUmodule module_of(CUlibrary library) { return reinterpret_cast<CUmodule>(library); }

// Handles of modules, by module.
struct Handles {
  std::mutex mutex;
  std::map<const Module*, CUlibrary> known;
};
Handles& handles() {
  static Handles* const made = new Handles;
  return *made;
}

CUlibrary handle_of(const ModulePtr& module) {
  const std::lock_guard lock(handles().mutex);
  CUlibrary& handle = handles().known[module.get()];
  if (!handle) handle = libraries().add(module);
  return handle;
}

Expected<ModulePtr> find_library(CUlibrary library) {
  if (auto module = libraries().find(library)) return module;
  return failure(cudaErrorInvalidResourceHandle);
}

// The program may free the image as soon as the call has returned. `now`: errors in it are reported at once.
Expected<CUlibrary> load(const void* image, bool now) {
  const auto module = Module::from_copy(image);
  if (!module) return failure(module.error());
  if (now) {
    if (const auto id = (*module)->load(); !id) return failure(id.error());
  }
  return handle_of(*module);
}

Expected<CUlibrary> load_file(const char* name, bool now) {
  if (!name) return failure(cudaErrorInvalidValue);
  std::ifstream file(name, std::ios::binary);
  if (!file) return failure(cudaErrorFileNotFound);
  std::ostringstream text;
  text << file.rdbuf();
  return load(text.str().c_str(), now);
}

Error unload(CUlibrary library) {
  const auto module = libraries().take(library);
  if (!module) return cudaErrorInvalidResourceHandle;
  {
    const std::lock_guard lock(handles().mutex);
    handles().known.erase(module.get());
  }
  return unload_module(module);
}

Expected<CUfunction> find_function(CUlibrary library, const char* name) {
  if (!name) return failure(cudaErrorInvalidValue);
  const auto module = find_library(library);
  if (!module) return failure(module.error());
  if (const auto info = (*module)->find_function(name, thread().device); !info) return failure(info.error());
  return function_handle(*module, name);
}

Error find_variable(CUdeviceptr* pointer, size_t* bytes, CUlibrary library, const char* name) {
  if (!name) return cudaErrorInvalidValue;
  const auto module = find_library(library);
  if (!module) return module.error();
  const auto facts = (*module)->find_variable(name, thread().device);
  if (!facts) return facts.error();
  if (pointer) *pointer = facts->address;
  if (bytes) *bytes = facts->bytes;
  return cudaSuccess;
}

// The compiler's messages go to the record; the program's buffers hold none.
void clear_logs(unsigned int count, const CUjit_option* options, void** values) {
  for (unsigned int k = 0; k < count; ++k) {
    const CUjit_option option = options[k];
    if ((option == CU_JIT_INFO_LOG_BUFFER || option == CU_JIT_ERROR_LOG_BUFFER) && values[k])
      *static_cast<char*>(values[k]) = '\0';
    if (option == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES || option == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      values[k] = nullptr;
  }
}

Error take_module(CUmodule* module, const Expected<CUlibrary>& loaded) {
  if (!loaded) return loaded.error();
  *module = module_of(*loaded);
  return cudaSuccess;
}

}  // namespace

// Modules

FB_API CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return in_context([&] {
    if (!module || !image) return cudaErrorInvalidValue;
    return take_module(module, load(image, true));
  });
}

FB_API CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int count, CUjit_option* options,
                                   void** values) {
  if (count > 0 && (!options || !values)) return CUDA_ERROR_INVALID_VALUE;
  clear_logs(count, options, values);
  return cuModuleLoadData(module, image);
}

FB_API CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) { return cuModuleLoadData(module, image); }

FB_API CUresult cuModuleLoad(CUmodule* module, const char* file) {
  return in_context([&] {
    if (!module) return cudaErrorInvalidValue;
    return take_module(module, load_file(file, true));
  });
}

FB_API CUresult cuModuleUnload(CUmodule module) {
  return in_context([&] { return unload(library_of(module)); });
}

FB_API CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return in_context([&] {
    if (!function) return cudaErrorInvalidValue;
    return put(function, find_function(library_of(module), name));
  });
}

FB_API CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule module) {
  return in_context([&] {
    const auto found = find_library(library_of(module));
    return found ? count_kernels(count, *found) : found.error();
  });
}

FB_API CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int most, CUmodule module) {
  return in_context([&] {
    const auto found = find_library(library_of(module));
    return found ? list_kernels(functions, most, *found) : found.error();
  });
}

FB_API CUresult cuModuleGetGlobal(CUdeviceptr* pointer, size_t* bytes, CUmodule module, const char* name) {
  return in_context([&] { return find_variable(pointer, bytes, library_of(module), name); });
}

FB_API CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return with_init([&] {
    if (!mode) return cudaErrorInvalidValue;
    *mode = CU_MODULE_LAZY_LOADING;
    return cudaSuccess;
  });
}

// Libraries: the same without a current context, and loaded when used

FB_API CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit_options, void** jit_values,
                                  unsigned int jit_count, CUlibraryOption*, void**, unsigned int) {
  return with_init([&] {
    if (!library || !code || (jit_count > 0 && (!jit_options || !jit_values))) return cudaErrorInvalidValue;
    clear_logs(jit_count, jit_options, jit_values);
    return put(library, load(code, true));
  });
}

FB_API CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* file, CUjit_option* jit_options,
                                      void** jit_values, unsigned int jit_count, CUlibraryOption*, void**,
                                      unsigned int) {
  return with_init([&] {
    if (!library || (jit_count > 0 && (!jit_options || !jit_values))) return cudaErrorInvalidValue;
    clear_logs(jit_count, jit_options, jit_values);
    return put(library, load_file(file, true));
  });
}

FB_API CUresult cuLibraryUnload(CUlibrary library) {
  return with_init([&] { return unload(library); });
}

FB_API CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return with_init([&] {
    if (!kernel) return cudaErrorInvalidValue;
    const auto found = find_function(library, name);
    if (found) *kernel = reinterpret_cast<CUkernel>(*found);
    return found ? cudaSuccess : found.error();
  });
}

FB_API CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary library) {
  return with_init([&] {
    const auto found = find_library(library);
    return found ? count_kernels(count, *found) : found.error();
  });
}

FB_API CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int most, CUlibrary library) {
  return with_init([&] {
    const auto found = find_library(library);
    return found ? list_kernels(reinterpret_cast<CUfunction*>(kernels), most, *found) : found.error();
  });
}

FB_API CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  return in_context([&] {
    if (!module) return cudaErrorInvalidValue;
    if (!libraries().find(library)) return cudaErrorInvalidResourceHandle;
    *module = module_of(library);
    return cudaSuccess;
  });
}

FB_API CUresult cuLibraryGetGlobal(CUdeviceptr* pointer, size_t* bytes, CUlibrary library, const char* name) {
  return in_context([&] { return find_variable(pointer, bytes, library, name); });
}

FB_API CUresult cuLibraryGetManaged(CUdeviceptr* pointer, size_t* bytes, CUlibrary library, const char* name) {
  return in_context([&] { return find_variable(pointer, bytes, library, name); });
}

FB_API CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  return in_context([&] {
    if (!module) return cudaErrorInvalidValue;
    const auto found = functions().find(function);
    if (!found) return cudaErrorInvalidResourceHandle;
    *module = module_of(handle_of(found->module));
    return cudaSuccess;
  });
}
