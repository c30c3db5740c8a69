// What compiled programs call to make their device code known, and symbols by name.

#include "ranks/shim/cuda/modules/module.h"
#include "ranks/shim/cuda/core/error_report.h"

#include <mutex>

#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/host_memory.h"

namespace shim = fb::shim;
using shim::record;

namespace {

// One per source file of the program. The module is missing where the file holds no text that can be run.
struct Registered {
  shim::ModulePtr module;
};

Registered* registered(void** handle) { return reinterpret_cast<Registered*>(handle); }

}  // namespace

// The compiler chose these names.
// NOLINTBEGIN(bugprone-reserved-identifier)
FB_API void** __cudaRegisterFatBinary(void* image) {
  auto* const entry = new Registered;
  // What is wrong with it shows when something of it is used: its kernels are then no device functions.
  if (const auto module = shim::Module::from_image(image)) entry->module = *module;
  return reinterpret_cast<void**>(entry);
}
FB_API void __cudaRegisterFatBinaryEnd(void** handle) {
  // The host may read managed variables before its first call.
  if (handle && registered(handle)->module && registered(handle)->module->has_managed())
    (void)registered(handle)->module->load();
}
FB_API void __cudaUnregisterFatBinary(void** handle) {
  // The process ends: other destructors may still want the kernels' names, and freeing memory is needless.
  if (handle) registered(handle)->module = nullptr;
}
FB_API char __cudaInitModule(void**) { return 1; }

FB_API void __cudaRegisterFunction(void** handle, const char* shadow, char*, const char* name, int, void*, void*, void*,
                                   void*, int*) {
  if (handle && registered(handle)->module) shim::register_function(shadow, registered(handle)->module, name);
}
FB_API void __cudaRegisterVar(void** handle, char* shadow, char*, const char* name, int, size_t bytes, int, int) {
  if (!handle || !registered(handle)->module) return;
  shim::register_variable(shadow, {.module = registered(handle)->module, .name = name, .bytes = bytes});
  if (registered(handle)->module->declares_managed(name) && shim::register_managed(shadow, bytes) == cudaSuccess)
    registered(handle)->module->place_managed(name, shadow);
}
FB_API void __cudaRegisterManagedVar(void** handle, void** shadow, char*, const char* name, int, size_t bytes, int,
                                     int) {
  // nvcc's host code finds the variable through a pointer.
  if (!handle || !registered(handle)->module) return;
  const auto memory = shim::make_managed(bytes);
  if (!memory) return;
  *shadow = *memory;
  registered(handle)->module->place_managed(name, *memory);
  shim::register_variable(shadow, {.module = registered(handle)->module, .name = name, .bytes = bytes});
}

FB_API cudaError_t __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream) {
  shim::thread().configurations.push_back({grid, block, shared_bytes, stream});
  return cudaSuccess;
}
FB_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  auto& stack = shim::thread().configurations;
  if (stack.empty()) return record(cudaErrorMissingConfiguration);
  *grid = stack.back().grid;
  *block = stack.back().block;
  *shared_bytes = stack.back().shared_bytes;
  *static_cast<cudaStream_t*>(stream) = stack.back().stream;
  stack.pop_back();
  return cudaSuccess;
}
// NOLINTEND(bugprone-reserved-identifier)

FB_API cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  if (!pointer) return record(cudaErrorInvalidValue);
  const auto facts = shim::find_symbol(symbol);
  if (!facts) return record(facts.error());
  *pointer = reinterpret_cast<void*>(facts->address);
  return cudaSuccess;
}
FB_API cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  if (!bytes) return record(cudaErrorInvalidValue);
  const auto facts = shim::find_symbol(symbol);
  if (!facts) return record(facts.error());
  *bytes = facts->bytes;
  return cudaSuccess;
}
