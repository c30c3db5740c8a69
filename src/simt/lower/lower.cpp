#include "simt/lower/lower.h"

#include "simt/lower/constant_pool.h"
#include "simt/lower/lower_function.h"
#include "simt/lower/shared_layout.h"

namespace fb::simt {

const FunctionInfo* Program::find(std::string_view name) const {
  for (const FunctionInfo& f : functions) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

Result<std::unique_ptr<Program>> lower(const ptx::Module& module, const LowerOptions& options) {
  auto program = std::make_unique<Program>();
  program->module = &module;
  program->functions.resize(module.functions.size());
  ConstantPool constants(program->constants);
  const SharedLayout shared(module);
  Errors errors;

  std::vector<FunctionLowering> lowerings;
  for (uint32_t f = 0; f < module.functions.size(); ++f) {
    FunctionInfo& info = program->functions[f];
    info.name = module.functions[f].name;
    info.source = &module.functions[f];
    info.index = f;
    if (module.functions[f].defined) lowerings.emplace_back(*program, options, shared, constants, f, errors);
  }
  for (FunctionLowering& l : lowerings) l.lay_out_frame();
  if (!errors.list.empty()) return std::unexpected(std::move(errors));
  for (FunctionLowering& l : lowerings) l.emit();
  if (!errors.list.empty()) return std::unexpected(std::move(errors));
  for (Inst& inst : program->code) {
    for (int32_t& op : inst.op) op = constants.final_offset(op);
  }
  for (auto& list : program->lists) {
    for (int32_t& row : list) row = constants.final_offset(row);
  }
  for (FunctionLowering& l : lowerings) l.connect();
  return program;
}

}  // namespace fb::simt
