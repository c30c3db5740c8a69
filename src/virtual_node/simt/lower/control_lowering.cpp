#include "virtual_node/simt/lower/control_lowering.h"

#include <fmt/format.h>

#include <utility>

#include "virtual_node/simt/branch_ways.h"
#include "virtual_node/simt/calls/builtins.h"

namespace fb::simt {

void ControlLowering::lower_call(const ptx::Instruction& inst, Inst& out) {
  CallSite site;
  const auto add = [&](const ptx::Operand& list, std::vector<LaneBytes>& to) {
    for (const ptx::Operand& e : list.elements) {
      if (e.kind != ptx::OperandKind::symbol || !e.in_function || context_.variable(e).space != ptx::Space::param ||
          context_.is_kernel_param(e)) {
        context_.fail(inst, "a call passes .param variables only: " + context_.text_of(inst));
        continue;
      }
      to.push_back(frame_.lane_bytes(e.index));
    }
  };
  add(inst.operands[0], site.results);
  add(inst.operands[2], site.args);
  const ptx::Operand& target = inst.operands[1];
  if (target.kind == ptx::OperandKind::function) {
    site.callee = target.index;
    const ptx::Function& callee = context_.program.module->functions[target.index];
    if (callee.entry) context_.fail(inst, fmt::format("{} is a kernel and can't be called", callee.name));
    if (!callee.defined) {
      Builtin& builtin = context_.program.functions[target.index].builtin;
      builtin = find_builtin(callee.name);
      if (!builtin) {
        context_.fail(
            inst,
            fmt::format("{} is called but defined nowhere, and the machine has no function of that name", callee.name));
      }
    }
    if (callee.params != site.args.size() || callee.returns != site.results.size()) {
      context_.fail(inst,
                    fmt::format("{} takes {} parameters and returns {} values; this call gives {} and expects {}",
                                callee.name, callee.params, callee.returns, site.args.size(), site.results.size()));
    }
  } else {
    out.op[1] = operands_.lower_value(inst, 1, target, out.width[1]);
    if (out.width[1] != 8)
      context_.fail(inst, "a call through a register needs a 64-bit register: " + context_.text_of(inst));
  }
  out.imm = static_cast<int64_t>(context_.program.calls.size());
  context_.program.calls.push_back(std::move(site));
}

void ControlLowering::lower_branch_table(const ptx::Instruction& inst, Inst& out) {
  const uint32_t list = inst.operands[1].index;
  const size_t count = context_.function.target_lists[list].labels.size();
  if (count > UINT16_MAX) context_.fail(inst, "brx.idx: more than 65535 targets");
  out.aux = static_cast<uint16_t>(count);
  out.imm = static_cast<int64_t>(context_.program.branch_tables.size());
  tables_.push_back({static_cast<uint32_t>(context_.program.branch_tables.size()), list});
  context_.program.branch_tables.emplace_back(count, nullptr);
}

void ControlLowering::connect(const std::vector<uint32_t>& start) {
  Program& program = context_.program;
  for (const Jump& j : jumps_) {
    Inst& jump = program.code[j.code];
    const uint32_t target = start[j.to];
    jump.target = &program.code[target];
    if (context_.options.count_branches) count_ways(jump);
    if (target > j.code) continue;
    // A loop: the values that are alive at its head decide whether an iteration changed anything.
    std::vector<Slot> live;
    for (uint32_t r : frame_.liveness().live_in[j.to])
      live.push_back({frame_.row(r), row_bytes(context_.function.registers[r].type)});
    jump.imm = static_cast<int64_t>(program.loop_live.size());
    program.loop_live.push_back(std::move(live));
  }
  for (const Table& t : tables_) {
    const auto& labels = context_.function.target_lists[t.targets].labels;
    for (size_t k = 0; k < labels.size(); ++k) program.branch_tables[t.table][k] = &program.code[start[labels[k]]];
  }
}

}  // namespace fb::simt
