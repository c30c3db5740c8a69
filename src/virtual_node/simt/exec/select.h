#pragma once

// From an instruction's form, modifiers and types to the function that executes it. One row of common/ptx/forms.def is
// one FB_EXEC body in an exec_*.cpp; a row without a body does not link.

#include <array>
#include <cstdint>

#include "common/ptx/module.h"
#include "virtual_node/simt/inst.h"

namespace fb::simt {

// What a .param address means: the launch's parameter block, or a parameter of a call in the frame.
enum class ParamKind : uint8_t { none, kernel, lanes };

// A selection may look at everything of the instruction except which registers it names.
struct Selection {
  const ptx::Instruction& inst;
  bool observed = false;  // a listener will be attached
  ParamKind param = ParamKind::none;
};

// Null: the form is known, but this combination of it (or all of it) is not supported.
using Select = Exec (*)(const Selection&);

using SelectTable = std::array<Select, static_cast<size_t>(ptx::Form::count_)>;

// Compiled for several instruction sets; this is the one for the CPU we run on.
const SelectTable& select_table();

inline Exec select(const Selection& s) { return select_table()[static_cast<size_t>(s.inst.form)](s); }

}  // namespace fb::simt
