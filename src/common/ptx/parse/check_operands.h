#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/ptx/module.h"
#include "common/ptx/parse/match_form.h"

namespace fb::ptx {

// An operand as the text has it, before it is known which operand of the form it is.
struct WrittenOperand {
  Operand operand;
  bool after_bar = false;  // second of a pair p|q
};

// An instruction whose opcode is matched and whose operands are read but not yet assigned. A name that nothing declares
// is a `label` operand whose index points into `names`.
struct WrittenInstruction {
  std::string_view opcode;  // as written
  const OpcodeMatch* match = nullptr;
  std::vector<WrittenOperand> operands;
  std::vector<std::string_view> names;
};

// Chooses the form by the operands' shapes, moves the operands to their positions in `out` (absent ones as `none`),
// checks kinds and widths, and turns float immediates into the width of their type. Returns what is wrong, if anything.
std::optional<Diagnostic> assign_operands(WrittenInstruction& written, const Function& function, Instruction& out);

// What the syntax cannot say: orderings that need a scope, operations that want certain types, sizes of packed lists.
std::optional<Diagnostic> check_rules(const Instruction& instruction, const Function& function,
                                      std::string_view opcode);

}  // namespace fb::ptx
