#include "common/ptx/units.h"

#include "common/ptx/traits.h"

namespace fb::ptx {
namespace {

bool is_wide(const Instruction& inst) { return bits_of(inst.type()) == 64; }

bool computes_floats(Type type) { return kind_of(type) == TypeKind::floating; }

// One 32-bit instruction, or as many as a 64-bit one is made of.
Work integers(const Instruction& inst, uint8_t wide = 2) {
  return is_wide(inst) ? Work{.count = wide, .steps = wide} : Work{};
}

// ptxas spreads work over two units: the upper half of a 64-bit sum is a product with one.
Work sums(const Instruction& inst) {
  if (!is_wide(inst)) return {};
  return {.steps = 2, .second = Unit::multiply, .second_count = 1, .second_steps = 0};
}

Work products(const Instruction& inst, uint8_t narrow) {
  if (is_wide(inst)) return {.unit = Unit::multiply, .count = 4, .steps = 3};
  return {.unit = Unit::multiply, .count = narrow, .steps = 1};
}

Work floats(const Instruction& inst, uint8_t count = 1) {
  return {.unit = is_wide(inst) ? Unit::f64 : Unit::fma, .count = count, .steps = count};
}

// Comparison, minimum, maximum: integer instructions for all types but f64.
Work compare(const Instruction& inst) {
  if (computes_floats(inst.type()) && is_wide(inst)) return {.unit = Unit::f64};
  return integers(inst);
}

// An approximation by the special unit, and the instructions that scale its operand and result where subnormal numbers
// count.
Work special(const Instruction& inst) {
  Work w{.unit = inst.form == Form::ex2_approx ? Unit::exponential : Unit::special};
  if (!inst.has(Mod::ftz) && inst.form != Form::tanh_approx) {
    w.second = Unit::fma;
    w.second_count = 3;
    w.second_steps = 4;
  }
  return w;
}

// Newton iterations behind an approximation.
Work refined(const Instruction& inst, uint8_t narrow, uint8_t wide) {
  const bool is_double = is_wide(inst);
  const uint8_t count = is_double ? wide : narrow;
  return {.unit = is_double ? Unit::f64 : Unit::fma,
          .count = count,
          .steps = static_cast<uint8_t>(is_double ? count : count / 2 + 1),
          .second = Unit::special,
          .second_count = 1,
          .second_steps = 1};
}

Work convert(const Instruction& inst) {
  const Type to = inst.type(0), from = inst.type(1);
  if (inst.form == Form::cvt_int_to_int) {
    const bool narrows = bits_of(to) < bits_of(from) || bits_of(to) < 32 || bits_of(from) < 32;
    // 32 bits of 64 are one of two registers; the upper half of a sign is a shift.
    if (bits_of(to) >= 32 && bits_of(from) >= 32) return {.unit = narrows ? Unit::none : Unit::integer};
    return {};
  }
  // Formats of 16 bits widen by an instruction of their own unit, or by a shift.
  if (inst.form == Form::cvt_float_to_float && to == Type::f32 && bits_of(from) == 16) return {.unit = Unit::half};
  // Two at a time.
  if (inst.form == Form::cvt_pack_half) return {.unit = Unit::integer, .count = 2, .steps = 1};
  return {.unit = Unit::special};
}

}  // namespace

Work work_of(const Instruction& inst) {
  switch (inst.form) {
    case Form::mov:
      if (inst.operands.size() > 1 && inst.operands[1].kind == OperandKind::special) return {};
      return {.unit = Unit::none, .count = 0, .steps = 0};
    case Form::mov_pack:
    case Form::mov_unpack:
    case Form::cvta:
    case Form::cvta_to:
    case Form::abs_float:
    case Form::neg_float:
    case Form::abs_half:
    case Form::neg_half:
    case Form::wgmma_fence:
    case Form::pmevent:
    case Form::pmevent_mask:
      return {.unit = Unit::none, .count = 0, .steps = 0};

    case Form::add_int:
    case Form::sub_int:
      return sums(inst);
    case Form::mul_lo:
    case Form::mad_lo:
    case Form::mad_cc:
    case Form::madc:
      return products(inst, 1);
    case Form::mul_hi:
    case Form::mad_hi:
    case Form::mad_hi_sat:
    case Form::mul_wide:
    case Form::mad_wide:
    case Form::sad:
      return products(inst, 2);
    case Form::mul24:
    case Form::mad24:
    case Form::mad24_sat:
    case Form::dp4a:
    case Form::dp2a:
      return {.unit = Unit::multiply};
    case Form::div_int:
    case Form::rem:
      if (is_wide(inst))
        return {.count = 80, .steps = 90, .second = Unit::special, .second_count = 2, .second_steps = 2};
      return {.count = 18, .steps = 26, .second = Unit::special, .second_count = 2, .second_steps = 2};
    case Form::shl:
      // A product with a power of two.
      return is_wide(inst) ? Work{.count = 3, .steps = 3} : Work{.unit = Unit::multiply};
    case Form::shr_logical:
    case Form::shr_arithmetic:
      return integers(inst, 3);
    case Form::bfe:
    case Form::bfi:
    case Form::szext:
      return {.count = 2, .steps = 2};
    case Form::fns:
      return {.count = 20, .steps = 20};
    case Form::popc:
    case Form::clz:
    case Form::bfind:
    case Form::brev:
      return {.unit = Unit::special};

    case Form::add_float:
    case Form::sub_float:
    case Form::mul_float:
    case Form::fma_float:
    case Form::mad_float:
      return floats(inst);
    case Form::add_float_x2:
    case Form::sub_float_x2:
    case Form::mul_float_x2:
    case Form::fma_float_x2:
      return {.unit = Unit::fma, .count = 2, .steps = 1};
    case Form::add_mixed:
    case Form::sub_mixed:
    case Form::fma_mixed:
      return {.unit = Unit::fma, .second = Unit::half, .second_count = 1, .second_steps = 1};
    case Form::add_half:
    case Form::sub_half:
    case Form::mul_half:
    case Form::fma_half:
      return {.unit = Unit::half};
    case Form::ex2_half:
      return {.unit = Unit::exponential};
    case Form::tanh_half:
    case Form::rcp_approx_f64:
    case Form::rsqrt_approx_f64:
      return {.unit = Unit::special};
    case Form::rcp_approx:
    case Form::sqrt_approx:
    case Form::rsqrt_approx:
    case Form::lg2_approx:
    case Form::ex2_approx:
    case Form::tanh_approx:
      return special(inst);
    case Form::sin_approx:
    case Form::cos_approx:
      return {.unit = Unit::special, .second = Unit::fma, .second_count = 1, .second_steps = 1};
    case Form::div_approx:
      return {.unit = Unit::fma, .second = Unit::special, .second_count = 1, .second_steps = 1};
    case Form::div_full:
      return refined(inst, 4, 4);
    case Form::div_float:
      return refined(inst, 8, 10);
    case Form::rcp_float:
      return refined(inst, 5, 7);
    case Form::sqrt_float:
      // IEEE roots test their operand for the slow case.
      return is_wide(inst)
                 ? refined(inst, 0, 9)
                 : Work{.count = 22, .steps = 11, .second = Unit::special, .second_count = 1, .second_steps = 1};

    case Form::setp_int:
    case Form::setp_float:
    case Form::set_int:
    case Form::set_float:
    case Form::min_float:
    case Form::max_float:
    case Form::min_int:
    case Form::max_int:
      return compare(inst);
    case Form::min3_float:
    case Form::max3_float:
    case Form::testp:
    case Form::copysign:
    case Form::selp:
    case Form::slct_int:
    case Form::slct_float:
      return integers(inst);

    case Form::cvt_int_to_int:
    case Form::cvt_int_to_float:
    case Form::cvt_float_to_int:
    case Form::cvt_float_to_float:
    case Form::cvt_pack_half:
    case Form::cvt_pack_half_rs:
    case Form::cvt_pack_fp8:
    case Form::cvt_pack_fp8_rs:
    case Form::cvt_pack_fp6:
    case Form::cvt_pack_fp4:
    case Form::cvt_pack_ue8m0:
    case Form::cvt_half_to_fp8:
    case Form::cvt_half_to_fp6:
    case Form::cvt_half_to_fp4:
    case Form::cvt_bf16_to_ue8m0:
    case Form::cvt_fp8_to_half:
    case Form::cvt_fp6_to_half:
    case Form::cvt_fp4_to_half:
    case Form::cvt_ue8m0_to_bf16:
      return convert(inst);

    case Form::shfl:
    case Form::movmatrix:
      return {.unit = Unit::exchange};
    case Form::vote:
    case Form::vote_ballot:
    case Form::activemask:
    case Form::elect:
      return {.unit = Unit::integer, .count = 1, .steps = 2};
    case Form::match_any:
    case Form::match_all:
      return {.unit = Unit::vote, .count = 8, .steps = 8};
    case Form::redux:
    case Form::redux_float:
      return {.unit = Unit::vote};
    case Form::mma_sync:
    case Form::mma_sync_b1:
      return {.unit = Unit::tensor};
    default:
      break;
  }
  const Traits& t = traits(inst);
  if (t.reads || t.writes || t.reduces || t.mbarrier || t.signals || t.waits_for_mbarrier || t.tensor_memory) {
    return {.unit = Unit::load_store};
  }
  if (t.computes) return integers(inst);
  return {.unit = Unit::control};
}

Work work_of_function(std::string_view name) {
  // From what the library's functions are made of, by their usual path.
  struct Row {
    std::string_view name;
    Work work;
  };
  static constexpr Row kRows[] = {
      {"expf", {Unit::fma, 6, 4, Unit::exponential, 1, 1}},    {"exp2f", {Unit::fma, 3, 3, Unit::exponential, 1, 1}},
      {"exp10f", {Unit::fma, 7, 5, Unit::exponential, 1, 1}},  {"logf", {Unit::fma, 18, 20, Unit::none, 0, 0}},
      {"log2f", {Unit::fma, 4, 4, Unit::special, 1, 1}},       {"rsqrtf", {Unit::fma, 3, 4, Unit::special, 1, 1}},
      {"sqrtf", {Unit::integer, 22, 11, Unit::special, 1, 1}}, {"fabsf", {Unit::none, 0, 0, Unit::none, 0, 0}},
      {"tanhf", {Unit::fma, 12, 8, Unit::special, 2, 2}},      {"erff", {Unit::fma, 18, 14, Unit::exponential, 1, 1}},
      {"powf", {Unit::fma, 45, 40, Unit::special, 2, 2}},      {"sinf", {Unit::fma, 20, 16, Unit::special, 1, 1}},
      {"cosf", {Unit::fma, 20, 16, Unit::special, 1, 1}},
  };
  if (name.starts_with("__nv_")) name.remove_prefix(5);
  for (const Row& row : kRows) {
    if (row.name == name) return row.work;
  }
  if (name.ends_with('f')) return {.unit = Unit::fma, .count = 20, .steps = 16};
  return {.unit = Unit::f64, .count = 30, .steps = 24};
}

}  // namespace fb::ptx
