#include "virtual_node/simt/lower/lower.h"

#include <algorithm>
#include <deque>

#include "virtual_node/simt/lower/constant_pool.h"
#include "virtual_node/simt/lower/emit.h"
#include "virtual_node/simt/lower/frame_layout.h"
#include "virtual_node/simt/lower/function_context.h"
#include "virtual_node/simt/lower/shared_layout.h"

namespace fb::simt {

const FunctionInfo* Program::find(std::string_view name, bool of_driver) const {
  for (const FunctionInfo& f : functions) {
    if (f.source->of_driver == of_driver && f.name == name) return &f;
  }
  return nullptr;
}

namespace {

// A kernel has the registers of the functions that it calls.
void take_registers_of_callees(const ptx::Module& module, Program& program) {
  for (bool changed = true; changed;) {
    changed = false;
    for (FunctionInfo& caller : program.functions) {
      if (caller.source->assembled.registers != 0) continue;
      for (const ptx::Instruction& inst : caller.source->body) {
        if (inst.form != ptx::Form::call) continue;
        for (const ptx::Operand& op : inst.operands) {
          if (op.kind != ptx::OperandKind::function || op.index >= module.functions.size()) continue;
          const uint32_t needed = program.functions[op.index].registers_per_thread;
          changed |= needed > caller.registers_per_thread;
          caller.registers_per_thread = std::max(caller.registers_per_thread, needed);
        }
      }
    }
  }
}

}  // namespace

Result<std::unique_ptr<Program>> lower(const ptx::Module& module, const LowerOptions& options) {
  auto program = std::make_unique<Program>();
  program->module = &module;
  program->functions.resize(module.functions.size());
  ConstantPool constants(program->constants);
  const SharedLayout shared(module);
  Errors errors;

  std::deque<FunctionContext> contexts;
  for (uint32_t f = 0; f < module.functions.size(); ++f) {
    FunctionInfo& info = program->functions[f];
    info.name = module.functions[f].name;
    info.source = &module.functions[f];
    info.index = f;
    if (!module.functions[f].defined) continue;
    contexts.push_back({.program = *program,
                        .options = options,
                        .shared = shared,
                        .constants = constants,
                        .errors = errors,
                        .index = f,
                        .function = module.functions[f]});
  }
  // All frames first: calls refer to those of other functions.
  std::deque<FrameLayout> frames;
  for (FunctionContext& context : contexts) frames.emplace_back(context);
  if (!errors.list.empty()) return std::unexpected(std::move(errors));
  take_registers_of_callees(module, *program);
  std::deque<FunctionEmitter> emitters;
  for (size_t k = 0; k < contexts.size(); ++k) emitters.emplace_back(contexts[k], frames[k]).emit();
  if (!errors.list.empty()) return std::unexpected(std::move(errors));
  for (Inst& inst : program->code) {
    for (int32_t& op : inst.op) op = constants.final_offset(op);
  }
  for (auto& list : program->lists) {
    for (int32_t& row : list) row = constants.final_offset(row);
  }
  for (FunctionEmitter& emitter : emitters) emitter.connect();
  if (!options.times.empty()) {
    program->cycle = options.times.cycle;
    program->bank_samples = std::make_shared<std::vector<BankSample>>(program->code.size());
  }
  if (options.count_branches) program->branch_ways = std::make_shared<std::vector<uint8_t>>(program->origins.size());
  return program;
}

}  // namespace fb::simt
