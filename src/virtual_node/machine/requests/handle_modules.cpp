// Modules, their functions and variables.

#include <algorithm>
#include <cstring>
#include <utility>

#include "virtual_node/machine/requests/handlers.h"

namespace fb::machine {
namespace {

using wire::Id;
using wire::Status;

// NVIDIA's NCCL is 138 texts of 139 MB, and each process of a run may load it. A candidate needs no such code.
struct ModuleLimits {
  uint64_t one, all;
};
constexpr ModuleLimits kJudgedLimits = {.one = 32 << 20, .all = kMostKept};
constexpr ModuleLimits kLimits = {.one = 1ull << 30, .all = 4ull << 30};
constexpr uint32_t kDefaultDynamicShared = 48 * 1024;

std::string_view text_of(std::span<const std::byte> blob) {
  return {reinterpret_cast<const char*>(blob.data()), blob.size()};
}

// A kernel of what the process has loaded as `id`.
const simt::FunctionInfo* find_kernel(const Process& process, Id id, const LoadedModule& module,
                                      const std::string& name) {
  const auto found = process.modules.find(id);
  if (found == process.modules.end()) return nullptr;
  const simt::FunctionInfo* f = module.program().find(name, found->second.of_driver);
  return f && f->source->entry ? f : nullptr;
}

}  // namespace

Status on_module_load(NodeServices& node, Call& call, const wire::ModuleLoad& m, wire::Handle& reply, Answer&) {
  Process& process = *call.thread->process;
  Id id = m.module;
  if (id == 0) {
    if (!process.may_make_more()) return Status::out_of_memory;
    id = process.next_id++;
    process.modules[id];
  }
  const auto found = process.modules.find(id);
  if (found == process.modules.end() || found->second.complete) return Status::invalid_handle;
  Module& module = found->second;
  const auto refuse = [&](Status why) {
    process.kept_bytes -= module.bytes;
    process.modules.erase(found);
    return why;
  };
  const ModuleLimits& limits = node.judge ? kJudgedLimits : kLimits;
  if (module.bytes + call.blob.size() > limits.one) return refuse(Status::invalid_image);
  if (process.kept_bytes + call.blob.size() > limits.all) return refuse(Status::out_of_memory);
  module.text += text_of(call.blob);
  module.bytes += call.blob.size();
  process.kept_bytes += call.blob.size();
  reply.handle = id;
  if (m.last == 0) return Status::ok;
  module.complete = true;
  call.thread->spend(node.platform.calls.allocate);
  const bool ptx = module.text.find(".version") != std::string::npos;
  return node.modules.parse(process, std::exchange(module.text, {}), module)
             ? Status::ok
             : refuse(ptx ? Status::invalid_ptx : Status::invalid_image);
}

Status on_module_unload(NodeServices& node, Call& call, const wire::OfHandle& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.modules.find(m.handle);
  if (found == process.modules.end()) return Status::invalid_handle;
  if (found->second.linked) return Status::ok;  // there is more than one user of the code
  process.kept_bytes -= found->second.bytes;
  process.modules.erase(found);
  std::erase_if(process.functions, [&](const auto& f) { return f.second.module == m.handle; });
  std::erase_if(process.function_ids, [&](const auto& f) { return f.first.first == m.handle; });
  // Code and variables stay until everything has ended on a device that could use them.
  for (const auto& [device, context] : process.contexts) {
    if (!context->modules.contains(m.handle)) continue;
    const OperationPtr last = node.streams.make_operation(process, device, "");
    for (const OperationPtr& w : process.pending) {
      if (w->device == last->device) Operations::order(w, last);
    }
    last->on_end.push_back([&node, &process, d = device, id = m.handle] { node.modules.drop(process, d, id); });
    node.streams.submit(last);
  }
  return Status::ok;
}

Status on_module_kernels(NodeServices&, Call& call, const wire::OfHandle& m, wire::KernelCount& reply, Answer& answer) {
  const auto found = call.thread->process->modules.find(m.handle);
  if (found == call.thread->process->modules.end() || !found->second.parsed) return Status::invalid_handle;
  for (const ptx::Function& f : found->second.parsed->functions) {
    if (!f.entry) continue;
    ++reply.kernels;
    const auto name = std::as_bytes(std::span(f.name.c_str(), f.name.size() + 1));
    answer.blob.insert(answer.blob.end(), name.begin(), name.end());
  }
  return answer.blob.size() <= wire::kLargestBlob ? Status::ok : Status::out_of_memory;
}

Status on_function_find(NodeServices& node, Call& call, const wire::FunctionFind& m, wire::FunctionFacts& reply,
                        Answer& answer) {
  Process& process = *call.thread->process;
  if (!node.memory.valid_device(m.device)) return Status::invalid_device;
  if (!process.modules.contains(m.module)) return Status::invalid_handle;
  std::string problem;
  const LoadedModule* module = node.modules.loaded(process, m.device, m.module, &problem);
  if (!module) return problem.empty() ? Status::invalid_handle : Status::invalid_ptx;
  const std::string name(text_of(call.blob));
  const simt::FunctionInfo* f = find_kernel(process, m.module, *module, name);
  if (!f) return Status::not_found;
  Id& id = process.function_ids[{m.module, name}];
  if (id == 0) {
    id = process.next_id++;
    process.functions[id] = {m.module, name};
  }
  const ptx::LaunchBounds& bounds = f->source->bounds;
  const auto limit = node.memory.context(process, m.device).dynamic_shared_limit.find({m.module, name});
  reply.function = id;
  reply.param_count = static_cast<uint32_t>(f->param_offsets.size());
  reply.param_bytes = f->param_bytes;
  reply.static_shared_bytes = f->static_shared_bytes;
  reply.max_dynamic_shared_bytes =
      limit != node.memory.context(process, m.device).dynamic_shared_limit.end()
          ? static_cast<uint32_t>(limit->second)
          : kDefaultDynamicShared - std::min(kDefaultDynamicShared, f->static_shared_bytes);
  reply.local_bytes = f->local_bytes;
  reply.registers = f->registers_per_thread;
  reply.max_threads = node.limits.threads_per_block;
  if (bounds.max_threads[0] != 0) {
    reply.max_threads = std::min(reply.max_threads, bounds.max_threads[0] * std::max(bounds.max_threads[1], 1u) *
                                                        std::max(bounds.max_threads[2], 1u));
  }
  if (bounds.cluster[0] != 0) {
    for (int k = 0; k < 3; ++k) reply.cluster[k] = std::max(bounds.cluster[k], 1u);
  }
  reply.ptx_version = 85;
  reply.capability = node.platform.device.capability_major * 10 + node.platform.device.capability_minor;
  answer.blob.resize(f->param_offsets.size() * 8);
  for (size_t k = 0; k < f->param_offsets.size(); ++k) {
    const uint32_t pair[2] = {f->param_offsets[k], static_cast<uint32_t>(f->source->variables[k].bytes)};
    std::memcpy(answer.blob.data() + k * 8, pair, sizeof pair);
  }
  return Status::ok;
}

Status on_function_set(NodeServices& node, Call& call, const wire::FunctionSet& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  if (!node.memory.valid_device(m.device)) return Status::invalid_device;
  const auto found = process.functions.find(m.function);
  if (found == process.functions.end()) return Status::invalid_handle;
  const auto& [module_id, name] = found->second;
  const LoadedModule* module = node.modules.loaded(process, m.device, module_id, nullptr);
  const simt::FunctionInfo* f = module ? find_kernel(process, module_id, *module, name) : nullptr;
  if (!f) return Status::invalid_device_function;
  if (m.attribute == wire::FunctionAttribute::non_portable_cluster) return Status::ok;
  if (m.attribute != wire::FunctionAttribute::max_dynamic_shared_bytes) return Status::invalid_value;
  if (m.value < 0 || static_cast<uint64_t>(m.value) + f->static_shared_bytes > node.limits.shared_per_block)
    return Status::invalid_value;
  node.memory.context(process, m.device).dynamic_shared_limit[{module_id, name}] = static_cast<uint64_t>(m.value);
  return Status::ok;
}

Status on_variable_find(NodeServices& node, Call& call, const wire::VariableFind& m, wire::VariableFacts& reply,
                        Answer&) {
  Process& process = *call.thread->process;
  if (!node.memory.valid_device(m.device)) return Status::invalid_device;
  if (!process.modules.contains(m.module)) return Status::invalid_handle;
  std::string problem;
  const LoadedModule* module = node.modules.loaded(process, m.device, m.module, &problem);
  if (!module) return problem.empty() ? Status::invalid_handle : Status::invalid_ptx;
  const std::string name(text_of(call.blob));
  const bool of_driver = process.modules.at(m.module).of_driver;
  const ptx::Variable* v = module->source().find_variable(name, of_driver);
  if (!v || module->address_of(name, of_driver) == 0) return Status::not_found;
  reply = {module->address_of(name, of_driver), v->bytes};
  return Status::ok;
}

Status on_variable_place(NodeServices&, Call& call, const wire::VariablePlace& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.modules.find(m.module);
  if (found == process.modules.end() || !found->second.parsed) return Status::invalid_handle;
  Module& module = found->second;
  if (module.linked) return Status::not_supported;  // code of the judge, shared by processes
  for (const auto& [device, context] : process.contexts) {
    if (context->modules.contains(m.module)) return Status::invalid_value;
  }
  const auto& variables = module.parsed->variables;
  const ptx::Variable* v = module.parsed->find_variable(std::string(text_of(call.blob)));
  if (!v || v->space != ptx::Space::global) return Status::not_found;
  auto region = process.regions.upper_bound(m.address);
  if (region == process.regions.begin()) return Status::invalid_value;
  --region;
  const auto& [begin, memory] = *region;
  if (memory.kind != wire::MemoryKind::registered || v->bytes > memory.bytes ||
      m.address - begin > memory.bytes - v->bytes || m.address % std::max<uint64_t>(v->align, 1) != 0)
    return Status::invalid_value;
  const auto number = static_cast<uint32_t>(v - variables.data());
  const auto [at, fresh] = module.managed.try_emplace(
      number, LoadedModule::Storage{m.address, memory.allocation->bytes.get() + (m.address - begin), true});
  if (!fresh) return Status::invalid_value;
  if (!v->init.empty()) std::memcpy(at->second.host, v->init.data(), std::min<uint64_t>(v->init.size(), v->bytes));
  // Addresses in initial values: of this variable, and its own in others.
  for (const auto& [k, storage] : module.managed) {
    for (const ptx::Relocation& r : variables[k].relocations) {
      const auto target = module.managed.find(r.symbol.index);
      const bool concerned = k == number || r.symbol.index == number;
      if (r.symbol.kind != ptx::OperandKind::symbol || target == module.managed.end() || !concerned) continue;
      const uint64_t value = r.symbol.bits + target->second.address;
      std::memcpy(storage.host + r.offset, &value, std::min<size_t>(r.bytes, sizeof value));
    }
  }
  return Status::ok;
}

Status on_occupancy(NodeServices& node, Call& call, const wire::Occupancy& m, wire::OccupancyFacts& reply, Answer&) {
  Process& process = *call.thread->process;
  if (!node.memory.valid_device(m.device)) return Status::invalid_device;
  const auto found = process.functions.find(m.function);
  if (found == process.functions.end()) return Status::invalid_handle;
  const LoadedModule* module = node.modules.loaded(process, m.device, found->second.module, nullptr);
  const simt::FunctionInfo* f =
      module ? find_kernel(process, found->second.module, *module, found->second.name) : nullptr;
  if (!f) return Status::invalid_device_function;
  if (m.threads_per_block == 0) return Status::invalid_value;
  simt::Grid grid;
  grid.kernel = f;
  grid.block = {m.threads_per_block, 1, 1};
  const DeviceLimits& limits = node.limits;
  reply.largest_cluster = limits.blocks_per_cluster;
  if (m.threads_per_block > limits.threads_per_block || m.dynamic_shared_bytes > limits.shared_per_block ||
      m.dynamic_shared_bytes + f->static_shared_bytes > limits.shared_per_block)
    return Status::ok;  // none fits
  grid.dynamic_shared_bytes = static_cast<uint32_t>(m.dynamic_shared_bytes);
  const uint64_t all = SmSlots(limits).capacity(needs_of(grid, limits));
  reply.blocks_per_multiprocessor = static_cast<uint32_t>(all / limits.sms);
  uint64_t cluster = 1;
  for (const uint32_t n : m.cluster) cluster = std::min<uint64_t>(cluster, UINT32_MAX) * std::max(n, 1u);
  reply.clusters = cluster > limits.blocks_per_cluster ? 0 : static_cast<uint32_t>(all / cluster);
  return Status::ok;
}

}  // namespace fb::machine
