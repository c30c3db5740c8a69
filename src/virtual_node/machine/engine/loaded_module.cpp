#include "virtual_node/machine/engine/loaded_module.h"

#include <fmt/format.h>

#include <cstring>

#include "common/ptx/parse/parser.h"
#include "virtual_node/simt/lower/lower.h"

namespace fb::machine {
namespace {

bool in_memory(const ptx::Variable& v) { return v.space == ptx::Space::global || v.space == ptx::Space::constant; }

constexpr uint64_t kLargestVariable = 1ull << 32;

}  // namespace

Result<std::unique_ptr<LoadedModule>> LoadedModule::load(std::string_view text, const LoadOptions& options,
                                                         const AllocateFn& allocate) {
  auto parsed = ptx::parse(text);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  return load(std::make_shared<const ptx::Module>(std::move(*parsed)), options, allocate);
}

Result<std::unique_ptr<LoadedModule>> LoadedModule::load(std::shared_ptr<const ptx::Module> parsed,
                                                         const LoadOptions& options, const AllocateFn& allocate) {
  auto loaded = std::make_unique<LoadedModule>();
  loaded->module_ = std::move(parsed);
  const ptx::Module& module = *loaded->module_;

  for (const ptx::Variable& v : module.variables) {
    Storage storage;
    if (in_memory(v)) {
      if (v.linkage == ptx::Linkage::external)
        return error(fmt::format("variable {} is declared but defined nowhere", v.name), v.at);
      if (v.bytes > kLargestVariable) return error(fmt::format("variable {} is larger than 4 GiB", v.name), v.at);
      storage = allocate(v);
      if (storage.address == 0)
        return error(fmt::format("no memory left for variable {} of {} bytes", v.name, v.bytes), v.at);
      if (!storage.initialised && !v.init.empty())
        std::memcpy(storage.host, v.init.data(), std::min<uint64_t>(v.init.size(), v.bytes));
    }
    loaded->variables_.push_back(storage);
  }
  for (size_t k = 0; k < module.variables.size(); ++k) {
    if (loaded->variables_[k].initialised) continue;
    for (const ptx::Relocation& r : module.variables[k].relocations) {
      const ptx::Operand& s = r.symbol;
      uint64_t value = s.bits;
      if (s.kind == ptx::OperandKind::function) {
        value += mem::kCodeWindow + simt::kCodeStride * s.index;
      } else if (s.kind == ptx::OperandKind::symbol && in_memory(module.variables[s.index])) {
        value += loaded->variables_[s.index].address;
      } else {
        return error(
            fmt::format("the initial value of {} needs an address that has no fixed value", module.variables[k].name),
            module.variables[k].at);
      }
      std::memcpy(loaded->variables_[k].host + r.offset, &value, std::min<size_t>(r.bytes, sizeof value));
    }
  }

  simt::LowerOptions lower_options;
  lower_options.observed = options.observed;
  lower_options.reference = options.reference;
  lower_options.tear = options.tear;
  lower_options.count_branches = options.count_branches;
  lower_options.times = options.times;
  lower_options.address_of = [&](uint32_t variable) { return loaded->variables_[variable].address; };
  auto program = simt::lower(module, lower_options);
  if (!program) return std::unexpected(std::move(program.error()));
  loaded->program_ = std::move(*program);
  return loaded;
}

mem::Address LoadedModule::address_of(std::string_view name, bool of_driver) const {
  const ptx::Variable* v = module_->find_variable(name, of_driver);
  return v ? variables_[static_cast<size_t>(v - module_->variables.data())].address : 0;
}

}  // namespace fb::machine
