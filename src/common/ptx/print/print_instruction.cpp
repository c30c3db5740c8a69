#include "common/ptx/print/print_instruction.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "common/ptx/form_table.h"
#include "common/ptx/print/function_names.h"
#include "common/ptx/print/printer.h"

namespace fb::ptx {
namespace {

class InstructionPrinter {
 public:
  InstructionPrinter(std::string& out, const Module& module, const Function& function, const FunctionNames* names)
      : out_(out), module_(module), function_(function), names_(names) {}

  void print(const Instruction& instruction) {
    if (instruction.guard.reg != kNoIndex) {
      out_ += instruction.guard.negated ? "@!" : "@";
      out_ += reg(instruction.guard.reg);
      out_ += ' ';
    }
    print_opcode(instruction);
    if (instruction.form == Form::call) {
      print_call(instruction);
    } else {
      print_operands(instruction);
    }
    out_ += ';';
  }

  void print(const Operand& operand) {
    if (operand.negated) out_ += '!';
    switch (operand.kind) {
      case OperandKind::none:
        break;
      case OperandKind::sink:
        out_ += '_';
        break;
      case OperandKind::reg:
        out_ += reg(operand.index);
        break;
      case OperandKind::special:
        out_ += to_string(static_cast<SpecialReg>(operand.index));
        break;
      case OperandKind::integer:
        append("{}", static_cast<int64_t>(operand.bits));
        break;
      case OperandKind::float32:
        append("0f{:08X}", static_cast<uint32_t>(operand.bits));
        break;
      case OperandKind::float64:
        append("0d{:016X}", operand.bits);
        break;
      case OperandKind::symbol:
        print_symbol(operand);
        break;
      case OperandKind::function:
        out_ += module_.functions[operand.index].name;
        break;
      case OperandKind::label:
        print_label(operand.index);
        break;
      case OperandKind::target_list:
        out_ += names_ ? names_->target_list(operand.index) : function_.target_lists[operand.index].name;
        break;
      case OperandKind::vector:
        print_list(operand, '{', '}');
        break;
      case OperandKind::address:
        print_address(operand);
        break;
    }
  }

 private:
  template <class... Args>
  void append(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  const std::string& reg(uint32_t index) const { return names_ ? names_->reg(index) : function_.registers[index].name; }

  void print_word(std::string_view word) {
    out_ += '.';
    out_ += word;
  }

  void print_mod(ModSet& rest, size_t mod) {
    print_word(to_string(static_cast<Mod>(mod)));
    rest.reset(mod);
  }

  void print_space(const Instruction& instruction, Space space) {
    // The newer instructions know only the long spelling.
    const bool cta = space == Space::shared && tier_of(instruction.form) >= 4;
    print_word(cta ? "shared::cta" : to_string(space));
  }

  void print_opcode(const Instruction& instruction) {
    const FormSpec& spec = spec_of(instruction.form);
    out_ += spec.opcode;
    ModSet rest = instruction.mods;
    size_t types = 0, spaces = 0;
    for (const OpcodePart& part : spec.parts) {
      if (part.kind == OpcodePart::Kind::type) {
        if (types < instruction.types.size() && part.takes(instruction.types[types])) {
          print_word(to_string(instruction.types[types++]));
        }
      } else if (part.kind == OpcodePart::Kind::space) {
        if (spaces < instruction.spaces.size() && part.takes(instruction.spaces[spaces])) {
          print_space(instruction, instruction.spaces[spaces++]);
        }
      } else {
        const ModSet mine = part.mods & rest;
        for (size_t i = mine._Find_first(); i < mine.size(); i = mine._Find_next(i)) {
          print_mod(rest, i);
          if (!part.together) break;
        }
      }
    }
    // Words that two parts could have taken (eviction priorities).
    for (size_t i = rest._Find_first(); i < rest.size(); i = rest._Find_next(i)) print_mod(rest, i);
  }

  void print_operands(const Instruction& instruction) {
    const FormSpec& spec = spec_of(instruction.form);
    bool first = true;
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      const Operand& operand = instruction.operands[i];
      if (operand.kind == OperandKind::none) continue;
      const bool paired = i < spec.operands.size() && spec.operands[i].paired;
      out_ += first ? " " : paired ? "|" : ", ";
      first = false;
      print(operand);
    }
  }

  void print_call(const Instruction& call) {
    const Operand &returns = call.operands[0], &params = call.operands[2], &targets = call.operands[3];
    out_ += ' ';
    if (returns.kind != OperandKind::none) {
      print_list(returns, '(', ')');
      out_ += ", ";
    }
    print(call.operands[1]);
    if (params.kind != OperandKind::none) {
      out_ += ", ";
      print_list(params, '(', ')');
    }
    if (targets.kind != OperandKind::none) {
      out_ += ", ";
      print(targets);
    }
  }

  void print_list(const Operand& list, char open, char close) {
    out_ += open;
    for (size_t i = 0; i < list.elements.size(); ++i) {
      if (i > 0) out_ += ", ";
      print(list.elements[i]);
    }
    out_ += close;
  }

  void print_offset(uint64_t bits) {
    if (bits != 0) append("+{}", static_cast<int64_t>(bits));
  }

  void print_symbol(const Operand& operand) {
    if (!operand.in_function) {
      out_ += module_.variables[operand.index].name;
    } else {
      out_ += names_ ? names_->variable(operand.index) : function_.variables[operand.index].name;
    }
    print_offset(operand.bits);
  }

  void print_address(const Operand& operand) {
    out_ += '[';
    print(operand.elements.front());
    print_offset(operand.bits);
    if (operand.elements.size() > 1) {
      out_ += ", ";
      print(operand.elements[1]);
    }
    out_ += ']';
  }

  void print_label(uint32_t index) {
    if (names_) {
      out_ += names_->label_at(index);
      return;
    }
    const auto it = std::ranges::find(function_.labels, index, &std::pair<std::string, uint32_t>::second);
    out_ += it != function_.labels.end() ? it->first : fmt::format("<instruction {}>", index);
  }

  std::string& out_;
  const Module& module_;
  const Function& function_;
  const FunctionNames* names_;
};

}  // namespace

void print_to(std::string& out, const Module& module, const Function& function, const Instruction& instruction,
              const FunctionNames* names) {
  InstructionPrinter(out, module, function, names).print(instruction);
}

void print_to(std::string& out, const Module& module, const Function& function, const Operand& operand,
              const FunctionNames* names) {
  InstructionPrinter(out, module, function, names).print(operand);
}

std::string print(const Module& module, const Function& function, const Instruction& instruction) {
  std::string out;
  print_to(out, module, function, instruction, nullptr);
  return out;
}

}  // namespace fb::ptx
