#include <fmt/format.h>

#include "common/ptx/matrix_shape.h"
#include "common/ptx/parse/check_operands.h"
#include "common/ptx/traits.h"

namespace fb::ptx {
namespace {

using Problem = std::optional<std::string>;

bool is_integer(Type type) { return kind_of(type) == TypeKind::unsigned_int || kind_of(type) == TypeKind::signed_int; }

bool is_half(Type type) {
  return type == Type::f16 || type == Type::f16x2 || type == Type::bf16 || type == Type::bf16x2;
}

bool has_any(const Instruction& i, std::initializer_list<Mod> mods) {
  for (const Mod mod : mods) {
    if (i.has(mod)) return true;
  }
  return false;
}

// Weak and volatile accesses have no scope; ordered ones must name theirs.
Problem check_ordering(const Instruction& i) {
  const bool ordered = has_any(i, {Mod::relaxed, Mod::acquire, Mod::release});
  const bool scoped = has_any(i, {Mod::cta, Mod::cluster, Mod::gpu, Mod::sys});
  if (ordered && !scoped) return "an ordered access needs a scope (.cta, .cluster, .gpu or .sys)";
  if (!ordered && scoped) return "a scope needs .relaxed, .acquire or .release";
  if (i.has(Mod::mmio) && !(i.has(Mod::relaxed) && i.has(Mod::sys))) return "an .mmio access must be .relaxed.sys";
  return std::nullopt;
}

Problem no_such_operation(const Instruction& i) {
  return fmt::format("this operation does not exist for .{}", to_string(i.type()));
}

// The operations of atom, red and cp.reduce, each with the types it knows.
Problem check_atomic(const Instruction& i) {
  const Type type = i.type();
  bool fits = false;
  if (i.has(Mod::add)) {
    fits = is_half(type) || type == Type::f32 || type == Type::f64 || (is_integer(type) && type != Type::s64);
  } else if (has_any(i, {Mod::min, Mod::max})) {
    fits = is_integer(type) || is_half(type);
  } else if (has_any(i, {Mod::inc, Mod::dec})) {
    fits = type == Type::u32;
  } else if (i.has(Mod::exch)) {
    fits = kind_of(type) == TypeKind::bits;
  } else {
    fits = type == Type::b32 || type == Type::b64;
  }
  if (!fits) return no_such_operation(i);
  const bool bulk = i.form == Form::cp_reduce_async_bulk_s2g || i.form == Form::multimem_cp_reduce_async_bulk;
  const bool noftz = is_half(type) && (i.has(Mod::add) || !bulk);
  if (noftz == i.has(Mod::noftz)) return std::nullopt;
  return noftz ? "half precision needs .noftz" : "only half precision takes .noftz";
}

Problem check_multimem_vector(const Instruction& i) {
  const bool integer = is_integer(i.type()) || kind_of(i.type()) == TypeKind::bits;
  if (integer && has_any(i, {Mod::v2, Mod::v4, Mod::v8})) return "multimem has no vectors of integers";
  return std::nullopt;
}

Problem check_multimem(const Instruction& i) {
  const Type type = i.type();
  const bool bitwise = has_any(i, {Mod::and_, Mod::or_, Mod::xor_});
  const bool minmax = has_any(i, {Mod::min, Mod::max});
  if (bitwise != (kind_of(type) == TypeKind::bits)) return no_such_operation(i);
  if (minmax && (type == Type::f32 || type == Type::f64)) return no_such_operation(i);
  return check_multimem_vector(i);
}

Problem check_redux(const Instruction& i) {
  const bool bitwise = has_any(i, {Mod::and_, Mod::or_, Mod::xor_});
  if (bitwise != (i.type() == Type::b32)) return no_such_operation(i);
  return std::nullopt;
}

// Bits have no order, and .lo .ls .hi .hs are the orders of unsigned numbers.
Problem check_comparison(const Instruction& i, Type type) {
  const bool ordered = has_any(i, {Mod::lt, Mod::le, Mod::gt, Mod::ge});
  const bool as_unsigned = has_any(i, {Mod::lo, Mod::ls, Mod::hi, Mod::hs});
  const auto kind = kind_of(type);
  if ((kind == TypeKind::bits && (ordered || as_unsigned)) || (kind == TypeKind::signed_int && as_unsigned)) {
    return fmt::format("this comparison does not exist for .{}", to_string(type));
  }
  return std::nullopt;
}

// A narrowing conversion says how it rounds; a widening one is exact; one to the same type may round to an integer.
Problem check_float_rounding(const Instruction& i) {
  const Type to = i.type(0), from = i.type(1);
  const bool rounds = has_any(i, {Mod::rn, Mod::rz, Mod::rm, Mod::rp});
  const bool to_integer = has_any(i, {Mod::rni, Mod::rzi, Mod::rmi, Mod::rpi});
  if (bits_of(to) < bits_of(from) && !rounds) return "this conversion needs a rounding modifier";
  if ((bits_of(to) > bits_of(from) || to == from) && rounds)
    return "this conversion is exact and takes no rounding modifier";
  if (to_integer && to != from) return "rounding to an integer keeps the type";
  return std::nullopt;
}

// mov.b64 {lo, hi}: the elements together are as wide as the type.
Problem check_packing(const Instruction& i, const Function& function, const Operand& list) {
  const size_t count = list.elements.size();
  const uint32_t bits = bits_of(i.type());
  if (count != 2 && count != 4) return "a packed list has 2 or 4 elements";
  for (const Operand& element : list.elements) {
    if (element.kind != OperandKind::reg) continue;
    const Register& reg = function.registers[element.index];
    if (bits_of(reg.type) * count != bits || reg.type == Type::pred) {
      return fmt::format("{} registers of {} bits do not make .{} ({} is .{})", count, bits / count,
                         to_string(i.type()), reg.name, to_string(reg.type));
    }
  }
  return std::nullopt;
}

// Coordinates of a texture or surface: its dimensions, and the layer in front of them. Three are written as three or
// four.
size_t coordinates_of(const Instruction& i) {
  if (i.has(Mod::dim_1d)) return 1;
  if (has_any(i, {Mod::dim_2d, Mod::a1d})) return 2;
  return i.has(Mod::acube) ? 4 : 3;
}

Problem check_list_of(const Function& function, const Operand& list, size_t count, uint32_t least_bits) {
  if (list.kind != OperandKind::vector) {
    if (count != 1) return fmt::format("a list of {} is needed", count);
  } else if (list.elements.size() != count && !(count == 3 && list.elements.size() == 4)) {
    return fmt::format("a list of {} is needed, not of {}", count, list.elements.size());
  }
  const auto fits = [&](const Operand& o) {
    if (o.kind != OperandKind::reg) return true;
    const Type type = function.registers[o.index].type;
    return type != Type::pred && bits_of(type) >= least_bits && bits_of(type) <= 64;
  };
  if (list.kind != OperandKind::vector) return fits(list) ? std::nullopt : Problem("a register of another width");
  for (const Operand& element : list.elements) {
    if (!fits(element)) return "a register of another width";
  }
  return std::nullopt;
}

Problem check_coordinates(const Instruction& i, const Function& function, const Operand& address) {
  if (address.elements[0].kind == OperandKind::reg &&
      bits_of(function.registers[address.elements[0].index].type) != 64) {
    return "a handle has 64 bits";
  }
  const Operand& list = address.elements[1];
  for (const Operand& c : list.elements) {
    if (c.kind == OperandKind::reg && bits_of(function.registers[c.index].type) != 32)
      return "a coordinate has 32 bits";
  }
  return check_list_of(function, list, coordinates_of(i), 32);
}

Problem check_texture(const Instruction& i, const Function& function) {
  if (auto problem = check_list_of(function, i.operands[0], 4, 32)) return problem;
  for (const Operand& element : i.operands[0].elements) {
    if (element.kind == OperandKind::reg && bits_of(function.registers[element.index].type) != 32)
      return "the result of a texture has 32 bits";
  }
  if (i.form == Form::tex_grad) {
    const size_t count = has_any(i, {Mod::dim_1d, Mod::a1d}) ? 1 : has_any(i, {Mod::dim_2d, Mod::a2d}) ? 2 : 3;
    for (const size_t k : {3, 4}) {
      if (auto problem = check_list_of(function, i.operands[k], count, 32)) return problem;
    }
  }
  return check_coordinates(i, function, i.operands[2]);
}

Problem check_surface(const Instruction& i, const Function& function) {
  const bool loads = i.form == Form::suld;
  const size_t count = i.has(Mod::v4) ? 4 : i.has(Mod::v2) ? 2 : 1;
  if (bits_of(i.type()) * count > 128) return "a surface is accessed by 16 bytes at most";
  if (auto problem = check_list_of(function, i.operands[loads ? 0 : 1], count, bits_of(i.type()))) return problem;
  return check_coordinates(i, function, i.operands[loads ? 1 : 0]);
}

// What another block's barrier returns cannot be waited for.
Problem check_arrive(const Instruction& i) {
  const bool remote = !i.spaces.empty() && i.spaces.front() == Space::shared_cluster;
  if (remote && i.operands[0].kind != OperandKind::sink) return "the state of a remote barrier is discarded: write _";
  return std::nullopt;
}

// A fragment: so many registers of 32 bits (64 for f64), or constants where they may stand for them.
Problem check_fragment(const Function& function, const Operand& list, std::string_view name, uint32_t wanted, Type type,
                       bool constants) {
  const Operand* first = list.kind == OperandKind::vector ? list.elements.data() : &list;
  const size_t count = list.kind == OperandKind::vector ? list.elements.size() : 1;
  if (count != wanted) return fmt::format("{} has {} registers, not {}", name, wanted, count);
  const uint32_t bits = type == Type::f64 ? 64 : 32;
  for (size_t k = 0; k < count; ++k) {
    if (first[k].kind != OperandKind::reg) {
      if (constants) continue;
      return fmt::format("the elements of {} must be registers", name);
    }
    const Register& reg = function.registers[first[k].index];
    if (bits_of(reg.type) != bits) {
      return fmt::format("the registers of {} have {} bits, {} is .{}", name, bits, reg.name, to_string(reg.type));
    }
  }
  return std::nullopt;
}

Problem check_mma(const Instruction& i, const Function& function) {
  const auto shape = matrix_shape(i);
  if (!shape) return std::nullopt;
  const auto [m, n, k] = *shape;
  const Type d = i.type(0), a = i.type(1), b = i.type(2), c = i.type(3);
  // m8n8k4 with f16 is four products at once, which no engine executes.
  if (m == 8 && a == Type::f16) return std::nullopt;
  if (auto problem = check_fragment(function, i.operands[0], "d", fragment_registers(m * n, d), d, false))
    return problem;
  if (auto problem = check_fragment(function, i.operands[1], "a", fragment_registers(m * k, a), a, false))
    return problem;
  if (auto problem = check_fragment(function, i.operands[2], "b", fragment_registers(k * n, b), b, false))
    return problem;
  return check_fragment(function, i.operands[3], "c", fragment_registers(m * n, c), c, c != Type::f16);
}

// A warp has 16 of the 64 rows.
Problem check_wgmma(const Instruction& i, const Function& function) {
  const auto shape = matrix_shape(i);
  if (!shape) return std::nullopt;
  const Type d = i.type(0), a = i.type(1);
  const Operand& factor = i.operands[1];
  const uint32_t bits = a == Type::tf32 ? 32 : bits_of(a);
  if (shape->k * bits != 256) return fmt::format("K of .{} is {}", to_string(a), 256 / bits);
  if (i.operands[2].kind != OperandKind::reg) return "the descriptor must be a register";
  if (auto problem = check_fragment(function, i.operands[0], "d", fragment_registers(16 * shape->n, d), d, false)) {
    return problem;
  }
  if (factor.kind == OperandKind::vector) return check_fragment(function, factor, "a", 4, a, false);
  if (factor.kind != OperandKind::reg || bits_of(function.registers[factor.index].type) != 64) {
    return "a is a list of registers, or a descriptor of 64 bits";
  }
  return std::nullopt;
}

// tcgen05.ld and st: .xN repetitions of the shape.
Problem check_tensor_memory(const Instruction& i, const Function& function, size_t list) {
  constexpr std::pair<Mod, uint32_t> kCounts[] = {{Mod::x1, 1},   {Mod::x2, 2},   {Mod::x4, 4},   {Mod::x8, 8},
                                                  {Mod::x16, 16}, {Mod::x32, 32}, {Mod::x64, 64}, {Mod::x128, 128}};
  uint32_t wanted = i.has(Mod::shape_16x256b) ? 4 : i.has(Mod::shape_16x128b) ? 2 : 1;
  for (const auto& [mod, count] : kCounts) {
    if (i.has(mod)) wanted *= count;
  }
  if (wanted > 128) return "more than 128 registers";
  return check_fragment(function, i.operands[list], "the list", wanted, Type::b32, false);
}

// Lanes of one block, or of two.
Problem check_lane_mask(const Instruction& i, const Function& function) {
  return check_fragment(function, i.operands[4], "the mask", i.has(Mod::cta_group_2) ? 8 : 4, Type::b32, false);
}

Problem find_problem(const Instruction& i, const Function& function) {
  const Traits& t = traits(i);
  if (t.scoped_order) {
    if (auto problem = check_ordering(i)) return problem;
  }
  const auto& operands = spec_of(i.form).operands;
  if (t.signals && !operands.empty() && operands[0].may_sink) return check_arrive(i);
  switch (i.form) {
    case Form::multimem_st:
      return check_multimem_vector(i);
    case Form::multimem_ld_reduce:
    case Form::multimem_red:
      return check_multimem(i);
    case Form::atom_op2:
    case Form::atom_vec:
    case Form::red:
    case Form::red_vec:
    case Form::red_async:
    case Form::cp_reduce_async_bulk_s2s:
    case Form::cp_reduce_async_bulk_s2g:
    case Form::multimem_cp_reduce_async_bulk:
      return check_atomic(i);
    case Form::mma_sync:
    case Form::mma_sync_b1:
      return check_mma(i, function);
    case Form::wgmma_mma_async:
      return check_wgmma(i, function);
    case Form::tcgen05_ld:
    case Form::tcgen05_ld_split:
      return check_tensor_memory(i, function, 0);
    case Form::tcgen05_st:
      return check_tensor_memory(i, function, 1);
    case Form::tcgen05_st_split:
      return check_tensor_memory(i, function, 2);
    case Form::tcgen05_mma_masked:
    case Form::tcgen05_mma_ts_masked:
      return check_lane_mask(i, function);
    case Form::redux:
      return check_redux(i);
    case Form::tex:
    case Form::tex_level:
    case Form::tex_grad:
    case Form::tld4:
      return check_texture(i, function);
    case Form::suld:
    case Form::sust:
      return check_surface(i, function);
    case Form::setp_int:
      return check_comparison(i, i.type(0));
    case Form::set_int:
      return check_comparison(i, i.type(1));
    case Form::cvt_float_to_float:
      return check_float_rounding(i);
    case Form::min_int:
    case Form::max_int:
      if (i.has(Mod::relu) && i.type() != Type::s32) return ".relu is for .s32";
      return std::nullopt;
    case Form::min_int_x2:
    case Form::max_int_x2:
      if (i.has(Mod::relu) && i.type() != Type::s16x2) return ".relu is for .s16x2";
      return std::nullopt;
    case Form::mov_pack:
      return check_packing(i, function, i.operands[1]);
    case Form::mov_unpack:
      return check_packing(i, function, i.operands[0]);
    case Form::mov:
      if (i.type() == Type::b128 && i.operands[1].kind != OperandKind::reg) return "needs a register or a list";
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Diagnostic> check_rules(const Instruction& instruction, const Function& function,
                                      std::string_view opcode) {
  auto problem = find_problem(instruction, function);
  if (!problem) return std::nullopt;
  return Diagnostic{instruction.at, fmt::format("{}: {}: {}", to_string(instruction.form), opcode, *problem)};
}

}  // namespace fb::ptx
