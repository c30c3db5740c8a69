#include "common/ptx/parse/check_operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

namespace fb::ptx {
namespace {

constexpr size_t kMaxOperands = 16;
constexpr int kAbsent = -1;
using Positions = std::array<int, kMaxOperands>;  // for each operand of the form: which written one

std::string_view describe(OperandKind kind) {
  switch (kind) {
    case OperandKind::none:
      return "nothing";
    case OperandKind::sink:
      return "the sink _";
    case OperandKind::reg:
      return "a register";
    case OperandKind::special:
      return "a special register";
    case OperandKind::integer:
      return "an integer constant";
    case OperandKind::float32:
    case OperandKind::float64:
      return "a floating-point constant";
    case OperandKind::symbol:
      return "a variable";
    case OperandKind::function:
      return "a function";
    case OperandKind::label:
      return "a label";
    case OperandKind::target_list:
      return "a list of targets";
    case OperandKind::vector:
      return "a list in braces";
    case OperandKind::address:
      return "an address";
  }
  return "";
}

std::string_view describe(OperandRole role) {
  switch (role) {
    case OperandRole::destination:
      return "a register";
    case OperandRole::predicate_destination:
      return "a predicate register";
    case OperandRole::list_destination:
    case OperandRole::list_source:
      return "a list of registers";
    case OperandRole::source:
      return "a register or a constant";
    case OperandRole::any_source:
      return "a register, a constant, a special register or a variable";
    case OperandRole::predicate_source:
      return "a predicate";
    case OperandRole::immediate:
      return "an integer constant";
    case OperandRole::address:
      return "an address";
    case OperandRole::tensor_address:
      return "a tensor address [map, {coordinates}]";
    case OperandRole::label:
      return "a label";
    case OperandRole::targets:
      return "a list of branch targets";
    case OperandRole::anything:
      return "an operand";
  }
  return "";
}

bool is_immediate(OperandKind kind) {
  return kind == OperandKind::integer || kind == OperandKind::float32 || kind == OperandKind::float64;
}

// Types whose constants must be written as floating point. Half precision has no constants at all.
bool is_floating(Type type) {
  return kind_of(type) == TypeKind::floating || type == Type::f16x2 || type == Type::bf16x2 || type == Type::f32x2;
}

bool is_active(const OperandSpec& spec, const ModSet& mods) {
  return !spec.conditional || (spec.condition & mods).any();
}

size_t vector_length(const ModSet& mods) {
  if (mods[static_cast<size_t>(Mod::v2)]) return 2;
  if (mods[static_cast<size_t>(Mod::v4)]) return 4;
  if (mods[static_cast<size_t>(Mod::v8)]) return 8;
  return 0;
}

// Operands of the first type become lists under .v2/.v4/.v8; those of a stated width do not.
bool is_vector_operand(const FormSpec& form, const OperandSpec& spec, const ModSet& mods) {
  const bool value = spec.role == OperandRole::destination || spec.role == OperandRole::source;
  return form.vectors && value && spec.width.rule == Width::Rule::slot && spec.width.slot == 0 &&
         vector_length(mods) > 0;
}

bool fits_role(OperandRole role, const Operand& operand, bool may_sink) {
  const auto kind = operand.kind;
  switch (role) {
    case OperandRole::destination:
    case OperandRole::predicate_destination:
      return kind == OperandKind::reg || (may_sink && kind == OperandKind::sink);
    case OperandRole::list_destination:
      return kind == OperandKind::vector;
    case OperandRole::list_source:
      return kind == OperandKind::vector || kind == OperandKind::reg;
    case OperandRole::source:
      return kind == OperandKind::reg || is_immediate(kind);
    case OperandRole::any_source:
      return kind == OperandKind::reg || is_immediate(kind) || kind == OperandKind::special ||
             kind == OperandKind::symbol || kind == OperandKind::function;
    case OperandRole::predicate_source:
      return kind == OperandKind::reg || kind == OperandKind::integer;
    case OperandRole::immediate:
      return kind == OperandKind::integer;
    case OperandRole::address:
      return kind == OperandKind::address && operand.elements.size() == 1;
    case OperandRole::tensor_address:
      return kind == OperandKind::address && operand.elements.size() == 2;
    case OperandRole::label:
      return kind == OperandKind::label;
    case OperandRole::targets:
      return kind == OperandKind::target_list;
    case OperandRole::anything:
      return true;
  }
  return false;
}

// Decides which written operand is which of the form, by count alone. Optional ones are filled from the left.
bool find_positions(const FormSpec& form, const WrittenInstruction& written, Positions& positions) {
  int spare = 0;
  bool open_ended = false;
  for (const auto& operand : written.operands) spare += !operand.after_bar;
  for (const OperandSpec& spec : form.operands) {
    open_ended |= spec.role == OperandRole::anything;
    const bool needed = spec.conditional ? is_active(spec, written.match->mods) : !spec.optional;
    if (!spec.paired && needed) --spare;
  }
  if (spare < 0 && !open_ended) return false;

  const int count = static_cast<int>(written.operands.size());
  int next = 0;
  for (size_t i = 0; i < form.operands.size(); ++i) {
    const OperandSpec& spec = form.operands[i];
    positions[i] = kAbsent;
    if (spec.role == OperandRole::anything) return true;
    if (!is_active(spec, written.match->mods)) continue;
    const bool have_pair = next < count && written.operands[static_cast<size_t>(next)].after_bar;
    if (spec.paired) {
      if (!have_pair && !spec.optional) return false;
      if (have_pair) positions[i] = next++;
      continue;
    }
    if (have_pair) return false;
    if (spec.optional && !spec.conditional && spare-- <= 0) continue;
    if (next >= count) return false;
    positions[i] = next++;
  }
  return next == count;
}

class OperandChecker {
 public:
  OperandChecker(WrittenInstruction& written, const Function& function) : written_(written), function_(function) {}

  std::optional<Diagnostic> assign(Instruction& out) {
    unwrap_lists_of_one();
    const auto& forms = written_.match->forms;
    const FormSpec* chosen = nullptr;
    const FormSpec* counted = nullptr;  // fits by number of operands only
    for (const FormSpec* form : forms) {
      if (!find_positions(*form, written_, positions_)) continue;
      counted = form;
      if (forms.size() == 1 || fits_shapes(*form)) {
        chosen = form;
        break;
      }
    }
    if (!counted) return wrong_count(*forms.front());
    form_ = chosen                                                                       ? chosen
            : forms.size() == 1 || !find_positions(*forms.front(), written_, positions_) ? counted
                                                                                         : forms.front();
    find_positions(*form_, written_, positions_);
    out.form = form_->form;
    out.operands.resize(form_->operands.size());
    for (size_t i = 0; i < form_->operands.size(); ++i) {
      if (form_->operands[i].role == OperandRole::anything) return take_rest(i, out);
      if (positions_[i] == kAbsent) continue;
      Operand& operand = written_.operands[static_cast<size_t>(positions_[i])].operand;
      if (auto problem = check(form_->operands[i], operand)) return problem;
      out.operands[i] = std::move(operand);
    }
    return std::nullopt;
  }

 private:
  // ld.u64 {r}, [a] is ld.u64 r, [a]. As in ptxas, only the instructions that have vectors and mov take it; lists of
  // matrix fragments stay lists.
  void unwrap_lists_of_one() {
    const auto& forms = written_.match->forms;
    const std::string_view opcode = forms.front()->opcode;
    if (opcode == "suld" && !written_.operands.empty()) return wrap_register(written_.operands.front().operand);
    if (opcode != "ld" && opcode != "ldu" && opcode != "st" && opcode != "mov") return;
    if (vector_length(written_.match->mods) != 0) return;
    for (auto& [operand, after_bar] : written_.operands) {
      if (operand.kind != OperandKind::vector || operand.elements.size() != 1) continue;
      Operand only = std::move(operand.elements.front());
      operand = std::move(only);
    }
  }

  // suld.b.1d.b32.trap r, … is suld.b.1d.b32.trap {r}, ….
  static void wrap_register(Operand& operand) {
    if (operand.kind != OperandKind::reg) return;
    Operand list;
    list.kind = OperandKind::vector;
    list.at = operand.at;
    list.elements.push_back(std::move(operand));
    operand = std::move(list);
  }

  bool fits_shapes(const FormSpec& form) const {
    for (size_t i = 0; i < form.operands.size(); ++i) {
      if (positions_[i] == kAbsent) continue;
      const OperandSpec& spec = form.operands[i];
      const Operand& operand = written_.operands[static_cast<size_t>(positions_[i])].operand;
      if (!fits_role(spec.role, operand, spec.may_sink)) return false;
      const bool wants_predicate = spec.role == OperandRole::predicate_source;
      if (operand.kind == OperandKind::reg && spec.width.rule == Width::Rule::fixed &&
          register_type(operand) == Type::pred) {
        return false;
      }
      if (wants_predicate && (operand.kind != OperandKind::reg || register_type(operand) != Type::pred)) return false;
    }
    return true;
  }

  // "…" takes what is left, as it is: these forms are known by name only.
  std::optional<Diagnostic> take_rest(size_t from, Instruction& out) {
    out.operands.resize(from);
    for (size_t i = from; i < written_.operands.size(); ++i) {
      Operand& operand = written_.operands[i].operand;
      if (auto problem = check_declared(operand)) return problem;
      out.operands.push_back(std::move(operand));
    }
    return std::nullopt;
  }

  Type register_type(const Operand& operand) const { return function_.registers[operand.index].type; }
  const std::string& register_name(const Operand& operand) const { return function_.registers[operand.index].name; }

  Diagnostic problem(const Operand& operand, std::string text) const {
    return {operand.at, fmt::format("{}: {}", to_string(form_->form), text)};
  }

  std::optional<Diagnostic> wrong_count(const FormSpec& form) const {
    return Diagnostic{{},
                      fmt::format("{}: {} operands do not fit {} ({})", to_string(form.form), written_.operands.size(),
                                  written_.opcode, syntax_of(form.form))};
  }

  std::optional<Diagnostic> check_declared(const Operand& operand) const {
    if (operand.kind == OperandKind::label) {
      return problem(operand, fmt::format("{} is not declared", written_.names[operand.index]));
    }
    for (const Operand& element : operand.elements) {
      if (auto wrong = check_declared(element)) return wrong;
    }
    return std::nullopt;
  }

  std::optional<Diagnostic> check(const OperandSpec& spec, Operand& operand) {
    if (spec.role != OperandRole::label) {
      if (auto wrong = check_declared(operand)) return wrong;
    }
    if (is_vector_operand(*form_, spec, written_.match->mods)) return check_vector(spec, operand);
    const bool may_sink = spec.may_sink || spec.paired || is_first_of_pair(spec);
    if (!fits_role(spec.role, operand, may_sink)) return wrong_shape(spec, operand);
    switch (spec.role) {
      case OperandRole::list_destination:
      case OperandRole::list_source:
        return check_list(spec, operand);
      case OperandRole::predicate_destination:
      case OperandRole::predicate_source:
        return check_value(operand, Type::pred, 1, false);
      case OperandRole::address:
      case OperandRole::tensor_address:
        return check_address(operand);
      case OperandRole::destination:
      case OperandRole::source:
      case OperandRole::any_source:
        return check_width(spec.width, operand);
      default:
        return std::nullopt;
    }
  }

  bool is_first_of_pair(const OperandSpec& spec) const {
    const auto next = static_cast<size_t>(&spec - form_->operands.data()) + 1;
    return next < form_->operands.size() && form_->operands[next].paired && positions_[next] != kAbsent;
  }

  Diagnostic wrong_shape(const OperandSpec& spec, const Operand& operand) const {
    return problem(operand,
                   fmt::format("{} must be {}, not {}", spec.name, describe(spec.role), describe(operand.kind)));
  }

  std::optional<Diagnostic> check_vector(const OperandSpec& spec, Operand& operand) {
    const size_t length = vector_length(written_.match->mods);
    if (operand.kind != OperandKind::vector || operand.elements.size() != length) {
      return problem(operand, fmt::format("{} must be a list of {} in braces", spec.name, length));
    }
    for (Operand& element : operand.elements) {
      if (!fits_role(spec.role, element, true)) return wrong_shape(spec, element);
      if (auto wrong = check_width(spec.width, element)) return wrong;
    }
    return std::nullopt;
  }

  // Fragments: only that their elements are registers (or, where read, constants); the engine knows their sizes.
  std::optional<Diagnostic> check_list(const OperandSpec& spec, Operand& operand) const {
    const bool written = spec.role == OperandRole::list_destination;
    for (const Operand& element : operand.elements) {
      const bool fits = element.kind == OperandKind::reg ||
                        (written ? element.kind == OperandKind::sink : is_immediate(element.kind));
      if (!fits) {
        return problem(element,
                       fmt::format("an element of {} must be a register, not {}", spec.name, describe(element.kind)));
      }
    }
    return std::nullopt;
  }

  std::optional<Diagnostic> check_address(const Operand& operand) const {
    const Operand& base = operand.elements.front();
    if (base.kind == OperandKind::reg) {
      const Type type = register_type(base);
      const bool wide_enough = bits_of(type) == 32 || bits_of(type) == 64;
      if (!wide_enough || kind_of(type) == TypeKind::floating || kind_of(type) == TypeKind::packed) {
        return problem(base, fmt::format("an address register has 32 or 64 integer bits, {} is .{}",
                                         register_name(base), to_string(type)));
      }
    } else if (base.kind != OperandKind::symbol && base.kind != OperandKind::integer) {
      return problem(base, fmt::format("{} cannot be an address", describe(base.kind)));
    }
    if (operand.elements.size() < 2) return std::nullopt;
    for (const Operand& coordinate : operand.elements[1].elements) {
      if (coordinate.kind != OperandKind::reg && coordinate.kind != OperandKind::integer &&
          coordinate.kind != OperandKind::float32) {
        return problem(coordinate, "a coordinate must be a register or a constant of 32 bits");
      }
    }
    return std::nullopt;
  }

  std::optional<Diagnostic> check_width(const Width& width, Operand& operand) {
    Type type = width.fixed;
    uint32_t factor = 1;
    switch (width.rule) {
      case Width::Rule::any:
        return std::nullopt;
      case Width::Rule::fixed:
        break;
      case Width::Rule::twice_slot:
        factor = 2;
        [[fallthrough]];
      case Width::Rule::slot:
        if (width.slot >= written_.match->types.size()) return std::nullopt;
        type = written_.match->types[width.slot];
        break;
    }
    return check_value(operand, type, bits_of(type) * factor, width.or_wider);
  }

  std::optional<Diagnostic> check_value(Operand& operand, Type type, uint32_t bits, bool or_wider) {
    if (operand.negated && type != Type::pred) return problem(operand, "only a predicate can be negated");
    switch (operand.kind) {
      case OperandKind::reg:
        return check_register(operand, type, bits, or_wider);
      case OperandKind::float32:
      case OperandKind::float64:
        return fit_float(operand, type);
      case OperandKind::integer:
        if (is_floating(type)) {
          return problem(operand, fmt::format("{} needs a floating-point constant", written_.opcode));
        }
        return std::nullopt;
      case OperandKind::special:
        return check_special(operand, bits);
      default:
        return std::nullopt;
    }
  }

  std::optional<Diagnostic> check_special(const Operand& operand, uint32_t bits) const {
    const auto reg = static_cast<SpecialReg>(operand.index);
    const uint32_t have = bits_of(type_of(reg));
    if (have == bits) return std::nullopt;
    return problem(operand, fmt::format("the special register {} is {} bits wide, {} needs {}", to_string(reg), have,
                                        written_.opcode, bits));
  }

  std::optional<Diagnostic> check_register(const Operand& operand, Type type, uint32_t bits, bool or_wider) const {
    const Type have = register_type(operand);
    const uint32_t have_bits = bits_of(have);
    if ((type == Type::pred) != (have == Type::pred)) {
      return problem(operand,
                     fmt::format("{} is .{}, {} needs {}", register_name(operand), to_string(have), written_.opcode,
                                 type == Type::pred ? std::string("a predicate") : fmt::format("{} bits", bits)));
    }
    if (have_bits != bits && !(or_wider && have_bits > bits)) {
      return problem(operand, fmt::format("the register {} is {} bits wide, {} needs {}", register_name(operand),
                                          have_bits, written_.opcode, bits));
    }
    const auto is_int = [](Type t) {
      return kind_of(t) == TypeKind::unsigned_int || kind_of(t) == TypeKind::signed_int;
    };
    const auto is_float = [](Type t) { return kind_of(t) == TypeKind::floating; };
    const bool clash = (is_int(type) && is_float(have)) || (is_float(type) && is_int(have)) ||
                       (is_float(type) && is_float(have) && have_bits != bits);
    if (clash) {
      return problem(operand, fmt::format("the register {} is .{}, {} needs .{}", register_name(operand),
                                          to_string(have), written_.opcode, to_string(type)));
    }
    return std::nullopt;
  }

  // A float constant takes the width of its type, as ptxas does, so that the engine never converts.
  std::optional<Diagnostic> fit_float(Operand& operand, Type type) const {
    if (type == Type::f32 && operand.kind == OperandKind::float64) {
      const auto value = static_cast<float>(std::bit_cast<double>(operand.bits));
      operand.kind = OperandKind::float32;
      operand.bits = std::bit_cast<uint32_t>(value);
    } else if (type == Type::f64 && operand.kind == OperandKind::float32) {
      const auto value = static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(operand.bits)));
      operand.kind = OperandKind::float64;
      operand.bits = std::bit_cast<uint64_t>(value);
    }
    const bool fits = operand.kind == OperandKind::float32 ? type == Type::f32 || type == Type::b32
                                                           : type == Type::f64 || type == Type::b64;
    if (fits) return std::nullopt;
    return problem(operand, fmt::format("{} cannot take a floating-point constant of this width", written_.opcode));
  }

  WrittenInstruction& written_;
  const Function& function_;
  const FormSpec* form_ = nullptr;
  Positions positions_{};
};

}  // namespace

std::optional<Diagnostic> assign_operands(WrittenInstruction& written, const Function& function, Instruction& out) {
  return OperandChecker(written, function).assign(out);
}

}  // namespace fb::ptx
