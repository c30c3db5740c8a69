#include "virtual_node/machine/engine/branch_report.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/ptx/print/printer.h"
#include "virtual_node/machine/engine/instruction_location.h"
#include "virtual_node/simt/branch_ways.h"

namespace fb::machine {
namespace {

// The compiler asks whether the operands of a 64-bit division have 32 bits: no branch of the source.
bool chooses_division(const simt::Program& program, uint32_t origin) {
  const simt::Origin at = program.origins[origin];
  const ptx::Function& function = program.module->functions[at.function];
  constexpr uint32_t kNear = 3;
  for (uint32_t k = at.index - std::min(at.index, kNear); k < at.index; ++k) {
    const std::string text = ptx::print(*program.module, function, function.body[k]);
    if (text.starts_with("and.b64") && text.ends_with("-4294967296;")) return true;
  }
  return false;
}

}  // namespace

std::vector<record::BranchWays> branches_of(const LoadedModule& module) {
  const simt::Program& program = module.program();
  std::vector<record::BranchWays> found;
  if (!program.branch_ways) return found;
  const auto& ways = *program.branch_ways;
  const auto add = [&](uint32_t origin, bool jumped, bool fell_through) -> record::BranchWays& {
    simt::SourceLocation at = location_in(program, origin);
    return found.emplace_back(std::move(at.function), std::move(at.file), at.line, at.ptx_line, std::move(at.text),
                              jumped, fell_through);
  };
  for (const simt::Inst& inst : program.code) {
    if (!simt::counts_ways(inst) || chooses_division(program, inst.origin)) continue;
    const uint8_t way = ways[inst.origin];
    add(inst.origin, (way & simt::kJumped) != 0, (way & simt::kFellThrough) != 0);
  }
  for (const simt::FunctionInfo& f : program.functions) {
    if (!f.source->entry || f.entry == nullptr) continue;
    const bool launched = (ways[f.entry->origin] & simt::kLaunched) != 0;
    add(f.entry->origin, launched, launched).text.clear();
  }
  return found;
}

}  // namespace fb::machine
