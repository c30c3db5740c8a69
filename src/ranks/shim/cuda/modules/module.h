#pragma once

// Device code: modules of PTX text, their functions and variables. A module goes to the machine when something of it is
// first used.

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/messages.h"
#include "ranks/shim/cuda/core/error.h"
#include "ranks/shim/cuda/core/registry.h"

namespace fb::shim {

struct FunctionInfo {
  wire::FunctionFacts facts;
  std::vector<std::pair<uint32_t, uint32_t>> params;  // {offset, bytes} in the parameter block
};

class Module {
 public:
  // `image` (device_image.h) outlives the module and is read when the module is first used: what is wrong with it shows
  // then. cudaErrorInvalidKernelImage for machine code, which has no text.
  static Expected<std::shared_ptr<Module>> from_image(const void* image);
  // The same of an image that may go at once.
  static Expected<std::shared_ptr<Module>> from_copy(const void* image);

  Expected<FunctionInfo> find_function(const std::string& name, int device);
  Expected<wire::VariableFacts> find_variable(const std::string& name, int device);
  // Names of its kernels, in the order of the text.
  Expected<std::vector<std::string>> kernels();
  // Sends it if it has not been; errors of the text show here.
  Expected<wire::Id> load();
  Error unload();
  // Whether the text has this variable with .attribute(.managed).
  bool declares_managed(const std::string& name);
  // A __managed__ variable at this address of the host, to be called before the module is loaded.
  void place_managed(const std::string& name, void* address) { managed_.emplace_back(name, address); }
  bool has_managed() const { return !managed_.empty(); }
  // Remembers what the machine has accepted for a function.
  void set_dynamic_shared(const std::string& name, int device, uint32_t bytes);

 private:
  Expected<std::string> text() const;

  const void* image_ = nullptr;
  std::string text_;  // of a copied image
  std::mutex mutex_;
  wire::Id id_ = 0;
  uint32_t generation_ = 0;
  Error failed_ = cudaSuccess;
  std::map<std::pair<std::string, int>, FunctionInfo> functions_;
  std::map<std::pair<std::string, int>, wire::VariableFacts> variables_;
  std::optional<std::set<std::string>> declared_;  // managed variables of the text
  std::vector<std::pair<std::string, void*>> managed_;
};
using ModulePtr = std::shared_ptr<Module>;

// A kernel by name: what cudaFunction_t, cudaKernel_t, CUfunction and CUkernel stand for.
struct Function {
  ModulePtr module;
  std::string name;
  // Of cudaFuncSetAttribute, which functions do not tell back.
  int preferred_carveout = -1, cluster_policy = 0, non_portable_cluster = 0;

  Expected<FunctionInfo> info(int device) const { return module->find_function(name, device); }
};
using FunctionPtr = std::shared_ptr<Function>;

// Handles of functions; cudaKernel_t and cudaFunction_t of one kernel are the same number.
Registry<cudaFunction_t, Function>& functions();
Registry<cudaLibrary_t, Module>& libraries();
// The handle of `name` in `module`, the same for the same name. Does not ask the machine.
cudaFunction_t function_handle(const ModulePtr& module, const std::string& name);
// The number of kernels of `module`, and handles of its first `most`.
Error count_kernels(unsigned int* count, const ModulePtr& module);
Error list_kernels(cudaFunction_t* list, unsigned int most, const ModulePtr& module);
// Unloads it and forgets the handles of its functions.
Error unload_module(const ModulePtr& module);

// What a program's own object files register: kernels and variables by the address of their host-side shadow.
struct RegisteredVariable {
  ModulePtr module;
  std::string name;
  size_t bytes = 0;
};
void register_function(const void* shadow, const ModulePtr& module, const char* name);
void register_variable(const void* shadow, RegisteredVariable variable);
void forget_registrations(const ModulePtr& module);
// A kernel's host-side address, or the handle of a function. cudaErrorInvalidDeviceFunction: neither.
Expected<FunctionPtr> find_kernel(const void* shadow_or_handle);
Expected<cudaFunction_t> kernel_handle(const void* shadow);
// On the current device. cudaErrorInvalidSymbol: no variable.
Expected<wire::VariableFacts> find_symbol(const void* shadow);

}  // namespace fb::shim
