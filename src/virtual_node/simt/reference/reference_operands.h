#pragma once

// How the slow engine reads and writes registers: one lane and one operand at a time, from the PTX instruction itself.

#include <cstdint>

#include "common/ptx/module.h"
#include "virtual_node/simt/exec/select.h"
#include "virtual_node/simt/reference/reference_operation.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt::reference {

class Operands {
 public:
  Operands(Warp& w, const Inst& i);

  const ptx::Instruction& inst() const { return inst_; }
  const ptx::Function& function() const { return function_; }
  // 1 for a register, else the length of the list.
  int count(size_t k) const;
  Bits read(size_t k, uint32_t lane, int element = 0) const;
  void write(size_t k, uint32_t lane, Bits value, int element = 0);

 private:
  int32_t row(size_t k, int element) const;

  Warp& w_;
  const Inst& i_;
  const ptx::Function& function_;
  const ptx::Instruction& inst_;
};

// Calls f for each executing lane, lowest first.
template <class F>
void each_executing(const Warp& w, F f) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((w.exec >> lane & 1) != 0) f(lane);
  }
}

// Where the addresses of a space begin among the generic ones.
mem::Address window_base(ptx::Space space);

// Null: not of this family, or not done by the slow engine.
Exec memory_handler(const Selection& selection);
Exec multimem_handler(const Selection& selection);
Exec warp_handler(const Selection& selection);
Exec matrix_handler(const Selection& selection);
Exec group_matrix_handler(const Selection& selection);

}  // namespace fb::simt::reference
