#pragma once

// One function of a module, lowered: frame, operands, calls. lower.cpp drives it.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "simt/exec/select.h"
#include "simt/inst.h"
#include "simt/lower/constant_pool.h"
#include "simt/lower/lower.h"
#include "simt/lower/registers.h"
#include "simt/lower/shared_layout.h"

namespace fb::simt {

class FunctionLowering {
 public:
  FunctionLowering(Program& program, const LowerOptions& options, const SharedLayout& shared, ConstantPool& constants,
                   uint32_t index, Errors& errors);

  // First for all functions: where registers, parameters and local variables lie.
  void lay_out_frame();
  // Then the code, appended to the program's.
  void emit();
  // Last, when no code moves any more: labels and lists become pointers.
  void connect();

 private:
  Inst& append(Exec run);
  void find_kept_params();
  void emit_kept_params();
  int32_t scratch();
  int32_t sink();
  void lengthen_frame(int32_t row, uint32_t bytes);

  void emit_instruction(const ptx::Instruction& inst);
  void place_operand(const ptx::Instruction& inst, size_t k, Inst& out, std::vector<int32_t>& list);
  int32_t place_value(const ptx::Instruction& inst, size_t k, const ptx::Operand& op, uint8_t& width);
  int32_t place_literal(const ptx::Instruction& inst, size_t k, const ptx::Operand& op, uint8_t& width);
  int32_t place_symbol(const ptx::Instruction& inst, const ptx::Operand& op, uint8_t& width);
  int32_t place_special(const ptx::Operand& op, uint8_t& width);
  void place_address(const ptx::Instruction& inst, size_t k, Inst& out, std::vector<int32_t>& list);
  bool place_param_access(const ptx::Instruction& inst, Inst& out, ParamKind& kind);
  void place_call(const ptx::Instruction& inst, Inst& out);
  void place_branch_table(const ptx::Instruction& inst, Inst& out);

  const ptx::Variable& variable(const ptx::Operand& symbol) const;
  bool is_local(const ptx::Operand& op) const;
  bool is_kernel_param(const ptx::Operand& symbol) const;
  bool has_fixed_address(const ptx::Instruction& inst, const ptx::Operand& symbol);
  uint64_t symbol_address(const ptx::Operand& symbol, bool generic) const;
  void fail(const ptx::Instruction& inst, std::string message);
  std::string text_of(const ptx::Instruction& inst) const;

  Program& program_;
  const LowerOptions& options_;
  const SharedLayout& shared_;
  ConstantPool& constants_;
  uint32_t index_;
  const ptx::Function& function_;
  Errors& errors_;

  Liveness liveness_;
  RegisterRows rows_;
  std::vector<LaneBytes> lane_bytes_;   // by variable: .param ones
  std::vector<uint32_t> local_offset_;  // by variable: .local ones, and parameters that are kept
  std::vector<bool> kept_;              // by variable: a parameter of a function that needs an address
  int32_t scratch_ = 0;                 // rows for values that are no register
  uint32_t used_scratch_ = 0;
  int32_t sink_ = 0;             // written, never read
  uint32_t body_index_ = 0;      // of the instruction being emitted
  std::vector<uint32_t> start_;  // body index → code index

  // To be connected: code index, and what it refers to.
  struct Reference {
    uint32_t code;
    uint32_t to;
  };
  std::vector<Reference> jumps_;   // to: body index
  std::vector<Reference> lists_;   // to: Program::lists
  std::vector<Reference> tables_;  // code: Program::branch_tables; to: ptx::Function::target_lists
};

}  // namespace fb::simt
