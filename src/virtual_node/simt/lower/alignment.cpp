#include "virtual_node/simt/lower/alignment.h"

#include <algorithm>
#include <bit>

#include "virtual_node/simt/lower/flow.h"

namespace fb::simt {
namespace {

using ptx::Form;
using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

constexpr uint32_t kAll = 64;  // of zero, and of what is not known yet

uint32_t zeros_in(uint64_t bits) { return static_cast<uint32_t>(std::countr_zero(bits)); }

class ZeroBits {
 public:
  ZeroBits(const ptx::Module& module, const ptx::Function& f) : module_(module), f_(f), of_(f.registers.size(), kAll) {}

  // From above: a register is as aligned as the least aligned of its definitions.
  std::vector<uint8_t> find() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Instruction& inst : f_.body) {
        for_each_register(inst, [&](uint32_t r, bool written) {
          if (!written) return;
          const auto now = static_cast<uint8_t>(std::min<uint32_t>(of_[r], result(inst)));
          changed |= now != of_[r];
          of_[r] = now;
        });
      }
    }
    return std::move(of_);
  }

 private:
  uint32_t of(const Operand& op) const {
    switch (op.kind) {
      case OperandKind::reg:
        return of_[op.index];
      case OperandKind::integer:
        return zeros_in(op.bits);
      case OperandKind::symbol: {
        const ptx::Variable& v = op.in_function ? f_.variables[op.index] : module_.variables[op.index];
        return std::min(zeros_in(v.align), zeros_in(op.bits));
      }
      default:
        return 0;
    }
  }

  static uint32_t sum(uint32_t a, uint64_t b) { return static_cast<uint32_t>(std::min<uint64_t>(a + b, kAll)); }

  uint32_t result(const Instruction& inst) const {
    const auto& op = inst.operands;
    switch (inst.form) {
      case Form::mov:
      case Form::cvta:
      case Form::cvta_to:
      case Form::neg_int:
        return of(op[1]);
      case Form::cvt_int_to_int:
        return inst.has(ptx::Mod::sat) ? 0 : of(op[1]);
      case Form::add_int:
      case Form::sub_int:
      case Form::or_:
      case Form::xor_:
      case Form::min_int:
      case Form::max_int:
      case Form::selp:
        return std::min(of(op[1]), of(op[2]));
      case Form::and_:
        return std::max(of(op[1]), of(op[2]));
      case Form::mul_lo:
      case Form::mul_wide:
        return sum(of(op[1]), of(op[2]));
      case Form::mad_lo:
      case Form::mad_wide:
        return std::min(sum(of(op[1]), of(op[2])), of(op[3]));
      case Form::shl:
        return op[2].kind == OperandKind::integer ? sum(of(op[1]), op[2].bits) : of(op[1]);
      default:
        return 0;
    }
  }

  const ptx::Module& module_;
  const ptx::Function& f_;
  std::vector<uint8_t> of_;
};

}  // namespace

std::vector<uint8_t> known_zero_bits(const ptx::Module& module, const ptx::Function& function) {
  return ZeroBits(module, function).find();
}

}  // namespace fb::simt
