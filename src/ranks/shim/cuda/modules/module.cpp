#include "ranks/shim/cuda/modules/module.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/modules/device_image.h"

namespace fb::shim {
namespace {

// Of the current device; all devices of a node are alike.
uint32_t capability() {
  const wire::DeviceFacts& facts = Session::get().device(thread().device);
  return facts.capability_major * 10 + facts.capability_minor;
}

struct Table {
  std::mutex mutex;
  std::unordered_map<const void*, cudaFunction_t> kernels;        // by shadow
  std::unordered_map<const void*, RegisteredVariable> variables;  // by shadow
  std::map<std::pair<const Module*, std::string>, cudaFunction_t> handles;
};
Table& table() {
  static Table* const made = new Table;
  return *made;
}

cudaFunction_t handle_under_lock(const ModulePtr& module, const std::string& name) {
  auto& handle = table().handles[{module.get(), name}];
  if (!handle) {
    auto function = std::make_shared<Function>();
    function->module = module;
    function->name = name;
    handle = functions().add(std::move(function));
  }
  return handle;
}

}  // namespace

Expected<ModulePtr> Module::from_image(const void* image) {
  if (const Error e = check_image(image); e != cudaSuccess) return failure(e);
  auto module = std::make_shared<Module>();
  module->image_ = image;
  return module;
}

Expected<ModulePtr> Module::from_copy(const void* image) {
  const auto borrowed = from_image(image);
  if (!borrowed) return borrowed;
  if (const Error e = Session::get().connect(); e != cudaSuccess) return failure(e);
  auto text = (*borrowed)->text();
  if (!text) return failure(text.error());
  auto module = std::make_shared<Module>();
  module->text_ = std::move(*text);
  return module;
}

Expected<std::string> Module::text() const {
  if (!image_) return text_;
  const auto units = units_of(image_, capability());
  if (!units) return failure(units.error());
  return joined(*units);
}

bool Module::declares_managed(const std::string& name) {
  constexpr std::string_view kAttribute = ".attribute(.managed)";
  if (!declared_) {
    declared_.emplace();
    // nvcc's containers need no look: its host code registers managed variables as such.
    const auto texts = image_ ? plain_texts(image_) : std::vector<const char*>{text_.c_str()};
    for (const std::string_view ptx : texts) {
      for (size_t at = ptx.find(kAttribute); at != std::string_view::npos; at = ptx.find(kAttribute, at + 1)) {
        std::string_view line = ptx.substr(at, ptx.find_first_of("[=;\n", at) - at);
        while (line.ends_with(' ')) line.remove_suffix(1);
        declared_->emplace(line.substr(line.rfind(' ') + 1));
      }
    }
  }
  return declared_->contains(name);
}

Expected<wire::Id> Module::load() {
  const std::lock_guard lock(mutex_);
  Session& session = Session::get();
  if (const Error e = session.connect(); e != cudaSuccess) return failure(e);
  if (generation_ == session.generation()) {
    if (failed_ != cudaSuccess) return failure(failed_);
    return id_;
  }
  functions_.clear();
  variables_.clear();
  wire::ModuleLoad request;
  const auto all = text();
  Error e = all ? cudaSuccess : all.error();
  std::span<const std::byte> rest;
  if (all) rest = std::as_bytes(std::span(*all));
  while (all) {
    const auto piece = rest.first(std::min<size_t>(rest.size(), wire::kLargestBlob));
    rest = rest.subspan(piece.size());
    request.last = rest.empty() ? 1 : 0;
    wire::Handle made;
    e = call<wire::Kind::module_load>(request, &made, piece);
    request.module = made.handle;
    if (e != cudaSuccess || rest.empty()) break;
  }
  if (e != cudaSuccess && e != cudaErrorInvalidKernelImage && e != cudaErrorInvalidPtx &&
      e != cudaErrorNoKernelImageForDevice)
    return failure(e);
  for (size_t k = 0; k < managed_.size() && e == cudaSuccess; ++k) {
    const auto& [name, address] = managed_[k];
    e = call<wire::Kind::variable_place>({.module = request.module, .address = reinterpret_cast<uint64_t>(address)},
                                         nullptr, {reinterpret_cast<const std::byte*>(name.data()), name.size()});
    if (e == cudaErrorSymbolNotFound) e = cudaSuccess;  // no kernel uses it
  }
  // Text that is wrong stays wrong.
  failed_ = e;
  id_ = request.module;
  generation_ = session.generation();
  if (e != cudaSuccess) return failure(e);
  return id_;
}

Expected<FunctionInfo> Module::find_function(const std::string& name, int device) {
  const auto id = load();
  if (!id) return failure(id.error());
  const std::lock_guard lock(mutex_);
  const auto known = functions_.find({name, device});
  if (known != functions_.end()) return known->second;
  FunctionInfo info;
  std::vector<std::byte> params;
  const Error e =
      call_on<wire::Kind::function_find>(device, {.module = *id, .device = static_cast<uint32_t>(device)}, &info.facts,
                                         {reinterpret_cast<const std::byte*>(name.data()), name.size()}, &params);
  if (e != cudaSuccess) return failure(e);
  for (size_t at = 0; at + 8 <= params.size(); at += 8) {
    uint32_t pair[2];
    std::memcpy(pair, params.data() + at, sizeof pair);
    info.params.emplace_back(pair[0], pair[1]);
  }
  return functions_.emplace(std::pair(name, device), std::move(info)).first->second;
}

Expected<wire::VariableFacts> Module::find_variable(const std::string& name, int device) {
  const auto id = load();
  if (!id) return failure(id.error());
  const std::lock_guard lock(mutex_);
  const auto known = variables_.find({name, device});
  if (known != variables_.end()) return known->second;
  wire::VariableFacts facts;
  const Error e =
      call_on<wire::Kind::variable_find>(device, {.module = *id, .device = static_cast<uint32_t>(device)}, &facts,
                                         {reinterpret_cast<const std::byte*>(name.data()), name.size()});
  if (e != cudaSuccess) return failure(e);
  variables_.emplace(std::pair(name, device), facts);
  return facts;
}

Expected<std::vector<std::string>> Module::kernels() {
  const auto id = load();
  if (!id) return failure(id.error());
  wire::KernelCount count;
  std::vector<std::byte> text;
  if (const Error e = call<wire::Kind::module_kernels>({.handle = *id}, &count, {}, &text); e != cudaSuccess)
    return failure(e);
  std::vector<std::string> names;
  names.reserve(count.kernels);
  const std::string_view all(reinterpret_cast<const char*>(text.data()), text.size());
  for (size_t at = 0; at < all.size(); at += names.back().size() + 1)
    names.emplace_back(all.substr(at, all.find('\0', at) - at));
  return names;
}

void Module::set_dynamic_shared(const std::string& name, int device, uint32_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto known = functions_.find({name, device});
  if (known != functions_.end()) known->second.facts.max_dynamic_shared_bytes = bytes;
}

Error Module::unload() {
  const std::lock_guard lock(mutex_);
  if (generation_ == 0 || generation_ != Session::get().generation() || id_ == 0) return cudaSuccess;
  generation_ = 0;
  return call<wire::Kind::module_unload>({.handle = id_});
}

Registry<cudaFunction_t, Function>& functions() {
  static auto* const all = new Registry<cudaFunction_t, Function>;
  return *all;
}

Registry<cudaLibrary_t, Module>& libraries() {
  static auto* const all = new Registry<cudaLibrary_t, Module>;
  return *all;
}

cudaFunction_t function_handle(const ModulePtr& module, const std::string& name) {
  const std::lock_guard lock(table().mutex);
  return handle_under_lock(module, name);
}

void register_function(const void* shadow, const ModulePtr& module, const char* name) {
  const std::lock_guard lock(table().mutex);
  table().kernels[shadow] = handle_under_lock(module, name);
}

void register_variable(const void* shadow, RegisteredVariable variable) {
  const std::lock_guard lock(table().mutex);
  table().variables[shadow] = std::move(variable);
}

void forget_registrations(const ModulePtr& module) {
  const std::lock_guard lock(table().mutex);
  std::erase_if(table().variables, [&](const auto& entry) { return entry.second.module == module; });
  for (auto at = table().handles.begin(); at != table().handles.end();) {
    if (at->first.first != module.get()) {
      ++at;
      continue;
    }
    functions().take(at->second);
    std::erase_if(table().kernels, [&](const auto& entry) { return entry.second == at->second; });
    at = table().handles.erase(at);
  }
}

Error count_kernels(unsigned int* count, const ModulePtr& module) {
  if (!count) return cudaErrorInvalidValue;
  const auto names = module->kernels();
  if (!names) return names.error();
  *count = static_cast<unsigned int>(names->size());
  return cudaSuccess;
}
Error list_kernels(cudaFunction_t* list, unsigned int most, const ModulePtr& module) {
  if (!list) return cudaErrorInvalidValue;
  const auto names = module->kernels();
  if (!names) return names.error();
  for (size_t k = 0; k < std::min<size_t>(most, names->size()); ++k) list[k] = function_handle(module, (*names)[k]);
  return cudaSuccess;
}

Error unload_module(const ModulePtr& module) {
  forget_registrations(module);
  return module->unload();
}

Expected<cudaFunction_t> kernel_handle(const void* shadow) {
  const std::lock_guard lock(table().mutex);
  const auto found = table().kernels.find(shadow);
  if (found == table().kernels.end()) return failure(cudaErrorInvalidDeviceFunction);
  return found->second;
}

Expected<FunctionPtr> find_kernel(const void* shadow_or_handle) {
  if (const Error e = Session::get().connect(); e != cudaSuccess) return failure(e);
  auto handle = reinterpret_cast<cudaFunction_t>(const_cast<void*>(shadow_or_handle));
  if (const auto known = kernel_handle(shadow_or_handle)) handle = *known;
  if (auto function = functions().find(handle)) return function;
  return failure(cudaErrorInvalidDeviceFunction);
}

Expected<wire::VariableFacts> find_symbol(const void* shadow) {
  if (const Error e = Session::get().connect(); e != cudaSuccess) return failure(e);
  RegisteredVariable variable;
  {
    const std::lock_guard lock(table().mutex);
    const auto found = table().variables.find(shadow);
    if (found == table().variables.end()) return failure(cudaErrorInvalidSymbol);
    variable = found->second;
  }
  auto facts = variable.module->find_variable(variable.name, thread().device);
  if (!facts && facts.error() == cudaErrorSymbolNotFound) return failure(cudaErrorInvalidSymbol);
  return facts;
}

}  // namespace fb::shim
