#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "common/ptx/print/function_names.h"
#include "common/ptx/print/print_instruction.h"
#include "common/ptx/print/printer.h"

namespace fb::ptx {
namespace {

std::string_view linkage_prefix(Linkage linkage) {
  switch (linkage) {
    case Linkage::local:
      return "";
    case Linkage::visible:
      return ".visible ";
    case Linkage::external:
      return ".extern ";
    case Linkage::weak:
      return ".weak ";
    case Linkage::common:
      return ".common ";
  }
  return "";
}

// Order matters to the reader of the text: names must be declared before they are used. So all functions are declared
// first (entries last, as nothing calls them), then variables, then bodies.
class ModulePrinter {
 public:
  explicit ModulePrinter(const Module& module) : module_(module), names_(collect_names(module)) {}

  std::string print() {
    append(".version {}.{}\n", module_.version_major, module_.version_minor);
    if (!module_.target.empty()) append(".target {}\n", module_.target);
    append(".address_size {}\n\n", module_.address_bits);
    for (size_t i = 0; i < module_.files.size(); ++i) {
      if (!module_.files[i].empty()) append(".file {} \"{}\"\n", i, module_.files[i]);
    }
    for (const bool entries : {false, true}) {
      for (const Function& function : module_.functions) {
        if (function.entry == entries) print_declaration(function);
      }
    }
    print_variables();
    for (const bool entries : {false, true}) {
      for (const Function& function : module_.functions) {
        if (function.entry == entries && function.defined) print_body(function);
      }
    }
    return std::move(out_);
  }

 private:
  template <class... Args>
  void append(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  void print_declaration(const Function& function) {
    print_signature(function, FunctionNames(names_, function));
    out_ += ";\n";
  }

  void print_signature(const Function& function, const FunctionNames& names) {
    append("\n{}{} ", linkage_prefix(function.linkage), function.entry ? ".entry" : ".func");
    const auto print_list = [&](uint32_t first, uint32_t count) {
      out_ += '(';
      for (uint32_t i = first; i < first + count; ++i) {
        if (i > first) out_ += ", ";
        print_declarator(function.variables[i], names.variable(i));
      }
      out_ += ')';
    };
    if (function.returns > 0) {
      print_list(function.params, function.returns);
      out_ += ' ';
    }
    out_ += function.name;
    print_list(0, function.params);
    if (function.no_return) out_ += " .noreturn";
  }

  void print_bounds(const LaunchBounds& bounds) {
    const auto print_triple = [this](std::string_view name, const uint32_t(&t)[3]) {
      if (t[0] != 0 || t[1] != 0 || t[2] != 0) append(" {} {}, {}, {}", name, t[0], t[1], t[2]);
    };
    const auto print_number = [this](std::string_view name, uint32_t value) {
      if (value != 0) append(" {} {}", name, value);
    };
    print_triple(".maxntid", bounds.max_threads);
    print_triple(".reqntid", bounds.required_threads);
    print_number(".minnctapersm", bounds.min_blocks_per_sm);
    print_number(".maxnreg", bounds.max_registers);
    print_triple(".reqnctapercluster", bounds.cluster);
    print_number(".maxclusterrank", bounds.max_cluster_rank);
    if (bounds.explicit_cluster) out_ += " .explicitcluster";
  }

  // .global .align 8 .b8 name[16]
  void print_declarator(const Variable& variable, const std::string& name) {
    const uint32_t element = bytes_of(variable.type);
    append(".{} .align {} .{} {}", to_string(variable.space), variable.align, to_string(variable.type), name);
    if (variable.unsized) {
      out_ += "[]";
    } else if (variable.bytes != element) {
      append("[{}]", variable.bytes / element);
    }
  }

  void print_variables() {
    const auto refers_forward = [](const Variable& variable, size_t own) {
      return std::ranges::any_of(variable.relocations, [own](const Relocation& relocation) {
        return relocation.symbol.kind == OperandKind::symbol && relocation.symbol.index > own;
      });
    };
    bool forward = false;
    for (size_t i = 0; i < module_.variables.size(); ++i) forward |= refers_forward(module_.variables[i], i);
    if (forward) {
      for (const Variable& variable : module_.variables) {
        out_ += "\n.extern ";
        print_declarator(variable, variable.name);
        out_ += ';';
      }
    }
    for (const Variable& variable : module_.variables) {
      out_ += '\n';
      out_ += linkage_prefix(variable.linkage);
      print_declarator(variable, variable.name);
      print_initializer(variable);
      out_ += ';';
    }
    if (!module_.variables.empty()) out_ += '\n';
  }

  void print_initializer(const Variable& variable) {
    if (variable.init.empty()) return;
    const uint32_t element = bytes_of(variable.type);
    const uint64_t count = variable.init.size() / element;
    const bool scalar = variable.bytes == element;
    out_ += scalar ? " = " : " = {";
    auto relocation = variable.relocations.begin();
    for (uint64_t i = 0; i < count; ++i) {
      if (i > 0) out_ += ", ";
      const uint64_t offset = i * element;
      while (relocation != variable.relocations.end() && relocation->offset + relocation->bytes <= offset) ++relocation;
      if (relocation != variable.relocations.end() && relocation->offset <= offset) {
        print_relocation(*relocation, offset, element);
      } else {
        print_value(variable, offset);
      }
    }
    if (!scalar) out_ += '}';
  }

  void print_relocation(const Relocation& relocation, uint64_t offset, uint32_t element) {
    const bool masked = element < relocation.bytes;
    if (masked) append("0x{:X}(", uint64_t{0xFF} << (8 * (offset - relocation.offset)));
    Operand symbol = relocation.symbol;
    if (relocation.generic) {
      symbol.bits = 0;
      out_ += "generic(";
    }
    print_to(out_, module_, Function{}, symbol, nullptr);
    if (relocation.generic) {
      out_ += ')';
      if (relocation.symbol.bits != 0) append("+{}", static_cast<int64_t>(relocation.symbol.bits));
    }
    if (masked) out_ += ')';
  }

  void print_value(const Variable& variable, uint64_t offset) {
    const uint32_t element = bytes_of(variable.type);
    uint64_t bits = 0;
    std::memcpy(&bits, variable.init.data() + offset, std::min<size_t>(element, 8));
    switch (variable.type) {
      case Type::f32:
        append("0f{:08X}", bits);
        break;
      case Type::f64:
        append("0d{:016X}", bits);
        break;
      default:
        append("{}", bits);
        break;
    }
  }

  void print_body(const Function& function) {
    const FunctionNames names(names_, function);
    print_signature(function, names);
    print_bounds(function.bounds);
    if (const Assembled& made = function.assembled; made.registers != 0)
      out_ += fmt::format(" .pragma \"{} {} {} {}\";", kAssembledPragma, made.registers, made.spill_store_bytes,
                          made.spill_load_bytes);
    out_ += "\n{\n";
    print_registers(function, names);
    for (uint32_t i = function.params + function.returns; i < function.variables.size(); ++i) {
      out_ += '\t';
      print_declarator(function.variables[i], names.variable(i));
      print_initializer(function.variables[i]);
      out_ += ";\n";
    }
    print_target_lists(function, names);
    print_instructions(function, names);
    out_ += "}\n";
  }

  // A run of registers prefix0, prefix1 … of one type becomes prefix<count>.
  void print_registers(const Function& function, const FunctionNames& names) {
    const auto count = static_cast<uint32_t>(function.registers.size());
    for (uint32_t first = 0; first < count;) {
      const std::string& name = names.reg(first);
      const Type type = function.registers[first].type;
      uint32_t end = first + 1;
      if (name.size() > 1 && name.back() == '0') {
        const std::string prefix = name.substr(0, name.size() - 1);
        const bool plain = prefix.back() < '0' || prefix.back() > '9';
        while (plain && end < count && function.registers[end].type == type &&
               names.reg(end) == prefix + std::to_string(end - first)) {
          ++end;
        }
      }
      if (end - first > 1) {
        append("\t.reg .{} {}<{}>;\n", to_string(type), name.substr(0, name.size() - 1), end - first);
      } else {
        append("\t.reg .{} {};\n", to_string(type), name);
      }
      first = end;
    }
  }

  void print_target_lists(const Function& function, const FunctionNames& names) {
    for (uint32_t i = 0; i < function.target_lists.size(); ++i) {
      const TargetList& list = function.target_lists[i];
      append("\t{}: ", names.target_list(i));
      if (!list.labels.empty()) {
        out_ += ".branchtargets ";
        for (size_t k = 0; k < list.labels.size(); ++k)
          append("{}{}", k > 0 ? ", " : "", names.label_at(list.labels[k]));
      } else if (!list.functions.empty()) {
        out_ += ".calltargets ";
        for (size_t k = 0; k < list.functions.size(); ++k) {
          append("{}{}", k > 0 ? ", " : "", module_.functions[list.functions[k]].name);
        }
      } else {
        out_ += ".callprototype (";
        print_prototype_list(list.returns);
        out_ += ") _ (";
        print_prototype_list(list.params);
        out_ += ')';
      }
      out_ += ";\n";
    }
  }

  void print_prototype_list(const std::vector<Variable>& list) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out_ += ", ";
      print_declarator(list[i], "_");
    }
  }

  void print_instructions(const Function& function, const FunctionNames& names) {
    SourceLine line;
    size_t label = 0;
    const auto print_labels = [&](uint32_t index) {
      for (; label < function.labels.size() && function.labels[label].second <= index; ++label) {
        append("{}:\n", names.label(label));
      }
    };
    for (uint32_t i = 0; i < function.body.size(); ++i) {
      print_labels(i);
      const Instruction& instruction = function.body[i];
      if (instruction.source != line && instruction.source.file != kNoIndex) {
        line = instruction.source;
        append("\t.loc {} {} {}\n", line.file, line.line, line.column);
      }
      out_ += '\t';
      print_to(out_, module_, function, instruction, &names);
      out_ += '\n';
    }
    print_labels(static_cast<uint32_t>(function.body.size()));
  }

  const Module& module_;
  const NameSet names_;
  std::string out_;
};

}  // namespace

std::string print(const Module& module) { return ModulePrinter(module).print(); }

}  // namespace fb::ptx
