// Modules, their functions and variables.

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "machine/node/handlers.h"
#include "ptx/parser.h"

namespace fb::machine {
namespace {

using wire::Id;
using wire::Status;

constexpr size_t kLargestModule = 32 << 20;
constexpr uint32_t kDefaultDynamicShared = 48 * 1024;

std::string_view text_of(std::span<const std::byte> blob) {
  return {reinterpret_cast<const char*>(blob.data()), blob.size()};
}

const simt::FunctionInfo* find_kernel(const LoadedModule& module, const std::string& name) {
  const simt::FunctionInfo* f = module.program().find(name);
  return f && f->source->entry ? f : nullptr;
}

}  // namespace

Status Handlers::on_module_load(Node& node, Call& call, const wire::ModuleLoad& m, wire::Handle& reply, Answer&) {
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
  if (module.bytes + call.blob.size() > kLargestModule) return refuse(Status::invalid_image);
  if (process.kept_bytes + call.blob.size() > kMostKept) return refuse(Status::out_of_memory);
  module.text += text_of(call.blob);
  module.bytes += call.blob.size();
  process.kept_bytes += call.blob.size();
  reply.handle = id;
  if (m.last == 0) return Status::ok;
  module.complete = true;
  node.spend(*call.thread, node.platform_.calls.allocate);
  const bool ptx = module.text.find(".version") != std::string::npos;
  module.parsed = node.parse(process, std::exchange(module.text, {}));
  return module.parsed ? Status::ok : refuse(ptx ? Status::invalid_ptx : Status::invalid_image);
}

// Processes of a node run the same program: each text is parsed once.
struct Node::ParsedText {
  std::string text;
  ptx::Module module;
};

std::shared_ptr<const ptx::Module> Node::parse(Process& process, std::string text) {
  if (parsed_.size() >= prune_parsed_at_) {
    std::erase_if(parsed_, [](const auto& p) { return p.second.expired(); });
    prune_parsed_at_ = std::max<size_t>(64, parsed_.size() * 2);
  }
  auto& slot = parsed_[std::hash<std::string>{}(text)];
  const auto known = slot.lock();
  // A process may have chosen its text to have the hash of another's.
  if (known && known->text == text) return {known, &known->module};
  auto parsed = ptx::parse(text);
  if (!parsed) {
    note(process, record::IncidentReason::module_not_ptx,
         "loaded a module that is not PTX:\n" + to_string(parsed.error(), "module"));
    return nullptr;
  }
  auto kept = std::make_shared<const ParsedText>(ParsedText{std::move(text), std::move(*parsed)});
  if (!known) slot = kept;
  return {kept, &kept->module};
}

void Node::note(Process& process, record::IncidentReason reason, std::string text) {
  constexpr uint32_t kMostNotes = 20;
  constexpr size_t kLongest = 4000;
  if (process.notes++ >= kMostNotes) return;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + " …";
  report_(make_incident(reason, process.rank, name_of(process) + " " + text));
}

Status Handlers::on_module_unload(Node& node, Call& call, const wire::OfHandle& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.modules.find(m.handle);
  if (found == process.modules.end()) return Status::invalid_handle;
  process.kept_bytes -= found->second.bytes;
  process.modules.erase(found);
  std::erase_if(process.functions, [&](const auto& f) { return f.second.module == m.handle; });
  std::erase_if(process.function_ids, [&](const auto& f) { return f.first.first == m.handle; });
  // Code and variables stay until everything has ended on a device that could use them.
  for (const auto& [device, context] : process.contexts) {
    if (!context->modules.contains(m.handle)) continue;
    const OperationPtr last = node.make_operation(process, device, "");
    for (const OperationPtr& w : process.pending) {
      if (w->device == last->device) Operations::order(w, last);
    }
    last->on_end.push_back([&node, &process, d = device, id = m.handle] { node.drop_module(process, d, id); });
    node.submit(last);
  }
  return Status::ok;
}

// Before a module goes: reports can't name its instructions any more.
void Node::forget_code(const LoadedModule& module) {
  if (checking_) checking_->detector().forget(module.program());
}

void Node::drop_module(Process& process, uint32_t device, Id module) {
  Context& c = context(process, device);
  const auto found = c.modules.find(module);
  if (found == c.modules.end()) return;
  release_regions(process, found->second.variables);
  forget_code(*found->second.loaded);
  c.modules.erase(found);
  std::erase_if(c.dynamic_shared_limit, [&](const auto& l) { return l.first.first == module; });
}

LoadedModule* Node::loaded(Process& process, uint32_t device, Id id, std::string* problem) {
  const auto found = process.modules.find(id);
  if (found == process.modules.end() || !found->second.parsed) return nullptr;
  Context& c = context(process, device);
  if (const auto known = c.modules.find(id); known != c.modules.end()) return known->second.loaded.get();
  std::vector<mem::Address> variables;
  LoadOptions load_options;
  load_options.observed = !options_.untimed;
  load_options.tear = options_.strict;
  auto module =
      LoadedModule::load(found->second.parsed, load_options, [&](const ptx::Variable& v) -> LoadedModule::Placed {
        if (!process.may_make_more()) return {};
        const bool constant = v.space == ptx::Space::constant;
        const mem::Address a =
            constant ? process.all.reserve_constant(v.bytes, v.align) : process.all.reserve(v.bytes, v.align);
        if (a == 0) return {};
        Region region;
        region.begin = a;
        region.bytes = v.bytes;
        region.kind = wire::MemoryKind::unknown;  // nobody may free it
        region.allocation = take_memory(process, device, v.bytes, "variable " + v.name);
        if (!region.allocation) return {};
        std::byte* host = region.allocation->bytes.get();
        add_region(process, std::move(region));
        variables.push_back(a);
        return {a, host};
      });
  if (!module) {
    const std::string text = to_string(module.error(), "module");
    note(process, record::IncidentReason::module_unsupported, "uses a module that the machine can't run:\n" + text);
    if (problem) *problem = text;
    release_regions(process, variables);
    return nullptr;
  }
  Context::Module& kept = c.modules[id] = {std::move(*module), std::move(variables)};
  return kept.loaded.get();
}

Status Handlers::on_function_find(Node& node, Call& call, const wire::FunctionFind& m, wire::FunctionFacts& reply,
                                  Answer& answer) {
  Process& process = *call.thread->process;
  if (!node.valid_device(process, m.device)) return Status::invalid_device;
  if (!process.modules.contains(m.module)) return Status::invalid_handle;
  std::string problem;
  const LoadedModule* module = node.loaded(process, m.device, m.module, &problem);
  if (!module) return problem.empty() ? Status::invalid_handle : Status::invalid_ptx;
  const std::string name(text_of(call.blob));
  const simt::FunctionInfo* f = find_kernel(*module, name);
  if (!f) return Status::not_found;
  Id& id = process.function_ids[{m.module, name}];
  if (id == 0) {
    id = process.next_id++;
    process.functions[id] = {m.module, name};
  }
  const ptx::LaunchBounds& bounds = f->source->bounds;
  const auto limit = node.context(process, m.device).dynamic_shared_limit.find({m.module, name});
  reply.function = id;
  reply.param_count = static_cast<uint32_t>(f->param_offsets.size());
  reply.param_bytes = f->param_bytes;
  reply.static_shared_bytes = f->static_shared_bytes;
  reply.max_dynamic_shared_bytes =
      limit != node.context(process, m.device).dynamic_shared_limit.end()
          ? static_cast<uint32_t>(limit->second)
          : kDefaultDynamicShared - std::min(kDefaultDynamicShared, f->static_shared_bytes);
  reply.local_bytes = f->local_bytes;
  reply.registers = f->registers_per_thread;
  reply.max_threads = node.limits_.threads_per_block;
  if (bounds.max_threads[0] != 0) {
    reply.max_threads = std::min(reply.max_threads, bounds.max_threads[0] * std::max(bounds.max_threads[1], 1u) *
                                                        std::max(bounds.max_threads[2], 1u));
  }
  if (bounds.cluster[0] != 0) {
    for (int k = 0; k < 3; ++k) reply.cluster[k] = std::max(bounds.cluster[k], 1u);
  }
  reply.ptx_version = 85;
  reply.capability = node.platform_.device.capability_major * 10 + node.platform_.device.capability_minor;
  answer.blob.resize(f->param_offsets.size() * 8);
  for (size_t k = 0; k < f->param_offsets.size(); ++k) {
    const uint32_t pair[2] = {f->param_offsets[k], static_cast<uint32_t>(f->source->variables[k].bytes)};
    std::memcpy(answer.blob.data() + k * 8, pair, sizeof pair);
  }
  return Status::ok;
}

Status Handlers::on_function_set(Node& node, Call& call, const wire::FunctionSet& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  if (!node.valid_device(process, m.device)) return Status::invalid_device;
  const auto found = process.functions.find(m.function);
  if (found == process.functions.end()) return Status::invalid_handle;
  const auto& [module_id, name] = found->second;
  const LoadedModule* module = node.loaded(process, m.device, module_id, nullptr);
  const simt::FunctionInfo* f = module ? find_kernel(*module, name) : nullptr;
  if (!f) return Status::invalid_device_function;
  if (m.attribute == wire::FunctionAttribute::non_portable_cluster) return Status::ok;
  if (m.attribute != wire::FunctionAttribute::max_dynamic_shared_bytes) return Status::invalid_value;
  if (m.value < 0 || static_cast<uint64_t>(m.value) + f->static_shared_bytes > node.limits_.shared_per_block)
    return Status::invalid_value;
  node.context(process, m.device).dynamic_shared_limit[{module_id, name}] = static_cast<uint64_t>(m.value);
  return Status::ok;
}

Status Handlers::on_variable_find(Node& node, Call& call, const wire::VariableFind& m, wire::VariableFacts& reply,
                                  Answer&) {
  Process& process = *call.thread->process;
  if (!node.valid_device(process, m.device)) return Status::invalid_device;
  if (!process.modules.contains(m.module)) return Status::invalid_handle;
  std::string problem;
  const LoadedModule* module = node.loaded(process, m.device, m.module, &problem);
  if (!module) return problem.empty() ? Status::invalid_handle : Status::invalid_ptx;
  const std::string name(text_of(call.blob));
  const ptx::Variable* v = module->source().find_variable(name);
  if (!v || module->address_of(name) == 0) return Status::not_found;
  reply = {module->address_of(name), v->bytes};
  return Status::ok;
}

Status Handlers::on_occupancy(Node& node, Call& call, const wire::Occupancy& m, wire::OccupancyFacts& reply, Answer&) {
  Process& process = *call.thread->process;
  if (!node.valid_device(process, m.device)) return Status::invalid_device;
  const auto found = process.functions.find(m.function);
  if (found == process.functions.end()) return Status::invalid_handle;
  const LoadedModule* module = node.loaded(process, m.device, found->second.module, nullptr);
  const simt::FunctionInfo* f = module ? find_kernel(*module, found->second.name) : nullptr;
  if (!f) return Status::invalid_device_function;
  if (m.threads_per_block == 0) return Status::invalid_value;
  simt::Grid grid;
  grid.kernel = f;
  grid.block = {m.threads_per_block, 1, 1};
  const DeviceLimits& limits = node.limits_;
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
