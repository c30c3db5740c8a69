#include "virtual_node/machine/process/module_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "common/base/strings.h"
#include "common/ptx/link/link_units.h"
#include "common/ptx/parse/parser.h"
#include "virtual_node/machine/engine/branch_report.h"
#include "virtual_node/simt/calls/builtins.h"
#include "virtual_node/simt/lower/join_loads.h"

namespace fb::machine {
namespace {

// In a context the linked code is under this number, for both of its texts.
constexpr wire::Id kLinked = 0;

}  // namespace

bool ModuleTable::parse(Process& process, std::string text, Module& module) {
  module.of_driver = driver_.is_driver(text);
  module.linked = module.of_driver || driver_.is_candidate(text);
  module.parsed = module.linked ? driver_.module : parse(process, std::move(text));
  return module.parsed != nullptr;
}

std::shared_ptr<const ptx::Module> ModuleTable::parse(Process& process, std::string text) {
  if (parsed_.size() >= prune_at_) {
    std::erase_if(parsed_, [](const auto& p) { return p.second.expired(); });
    prune_at_ = std::max<size_t>(64, parsed_.size() * 2);
  }
  auto& slot = parsed_[std::hash<std::string>{}(text)];
  const auto known = slot.lock();
  // A process may have chosen its text to have the hash of another's.
  if (known && known->text == text) return {known, &known->module};
  auto parsed = text.find('\0') == std::string::npos ? parse_one(process, text, "module") : link(process, text);
  if (!parsed) return nullptr;
  if (!options_.times.empty()) simt::join_shared_loads(*parsed);
  auto kept = std::make_shared<const ParsedText>(ParsedText{std::move(text), std::move(*parsed)});
  if (!known) slot = kept;
  return {kept, &kept->module};
}

std::optional<ptx::Module> ModuleTable::parse_one(Process& process, std::string_view text, const std::string& name) {
  auto parsed = ptx::parse(text);
  if (parsed) return std::move(*parsed);
  note(process, record::IncidentReason::module_not_ptx,
       "loaded a module that is not PTX:\n" + to_string(parsed.error(), name));
  return std::nullopt;
}

namespace {

// What nvcc links into programs whose kernels call the runtime: the machine has these functions itself.
bool is_device_runtime(const ptx::Module& module) {
  return std::ranges::any_of(module.functions,
                             [](const ptx::Function& f) { return f.defined && f.name == "__cudaCDP2LaunchDeviceV2"; });
}

}  // namespace

std::optional<ptx::Module> ModuleTable::link(Process& process, std::string_view texts) {
  auto parts = split(texts, '\0');
  if (parts.back().empty()) parts.pop_back();
  std::vector<ptx::LinkUnit> units;
  for (size_t k = 0; k + 1 < parts.size(); k += 2) {
    const std::string name(parts[k]);
    auto module = parse_one(process, parts[k + 1], name.empty() ? fmt::format("module {}", k / 2 + 1) : name);
    if (!module) return std::nullopt;
    if (is_device_runtime(*module)) continue;
    units.push_back({name, std::move(*module)});
  }
  auto whole =
      ptx::link_units(std::move(units), [](std::string_view name) { return simt::find_builtin(name) != nullptr; });
  if (whole) return std::move(*whole);
  std::string why = "loaded device code of several files that does not link:";
  for (const Diagnostic& problem : whole.error().list) why += "\n" + problem.message;
  note(process, record::IncidentReason::module_not_linked, why);
  return std::nullopt;
}

void ModuleTable::note(Process& process, record::IncidentReason reason, std::string text) {
  constexpr uint32_t kMostNotes = 20;
  constexpr size_t kLongest = 4000;
  if (process.notes++ >= kMostNotes) return;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + " …";
  report_(make_incident(reason, process.rank, name_of(process) + " " + text));
}

void ModuleTable::forget_code(const LoadedModule& module) {
  if (checking_) checking_->detector().forget(module.program());
  record::merge(past_branches_, branches_of(module));
}

void ModuleTable::drop(Process& process, uint32_t device, wire::Id module) {
  Context& c = memory_.context(process, device);
  const auto found = c.modules.find(module);
  if (found == c.modules.end()) return;
  memory_.release_regions(process, found->second.variables);
  forget_code(*found->second.loaded);
  c.modules.erase(found);
  std::erase_if(c.dynamic_shared_limit, [&](const auto& l) { return l.first.first == module; });
}

LoadedModule* ModuleTable::loaded(Process& process, uint32_t device, wire::Id id, std::string* problem) {
  const auto found = process.modules.find(id);
  if (found == process.modules.end() || !found->second.parsed) return nullptr;
  Context& c = memory_.context(process, device);
  const wire::Id key = found->second.linked ? kLinked : id;
  if (const auto known = c.modules.find(key); known != c.modules.end()) return known->second.loaded.get();
  std::vector<mem::Address> variables;
  auto module =
      LoadedModule::load(found->second.parsed, options_, [&](const ptx::Variable& v) -> LoadedModule::Storage {
        const auto number = static_cast<uint32_t>(&v - found->second.parsed->variables.data());
        if (const auto placed = found->second.managed.find(number); placed != found->second.managed.end())
          return placed->second;
        if (!process.may_make_more()) return {};
        const bool constant = v.space == ptx::Space::constant;
        const mem::Address a =
            constant ? process.all.reserve_constant(v.bytes, v.align) : process.all.reserve(v.bytes, v.align);
        if (a == 0) return {};
        Region region;
        region.begin = a;
        region.bytes = v.bytes;
        region.kind = wire::MemoryKind::unknown;  // can't be freed
        region.allocation =
            memory_.take_memory(process, device, v.bytes, "variable " + v.name, NodeMemory::Contents::zero);
        if (!region.allocation) return {};
        std::byte* host = region.allocation->bytes.get();
        memory_.add_region(process, std::move(region));
        variables.push_back(a);
        return {a, host};
      });
  if (!module) {
    const std::string text = to_string(module.error(), "module");
    note(process, record::IncidentReason::module_unsupported, "uses a module that the machine can't run:\n" + text);
    if (problem) *problem = text;
    memory_.release_regions(process, variables);
    return nullptr;
  }
  Context::Module& kept = c.modules[key] = {std::move(*module), std::move(variables)};
  return kept.loaded.get();
}

}  // namespace fb::machine
