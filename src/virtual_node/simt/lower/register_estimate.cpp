#include "virtual_node/simt/lower/register_estimate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/ptx/traits.h"
#include "virtual_node/simt/lower/flow.h"

namespace fb::simt {
namespace {

using ptx::Form;
using ptx::OperandKind;

// What the assembler keeps of a virtual register.
enum class Kept : uint8_t {
  value,    // a register of each thread
  uniform,  // equal in all threads: mostly in registers of the warp or in constant memory
  nothing,  // a predicate
};

class Living {
 public:
  enum class Counted : uint8_t { values, all };  // without those that are uniform, or with them

  Living(const ptx::Function& f, const Liveness& liveness) : f_(f), liveness_(liveness), flow_(find_flow(f)) {
    several_.assign(f_.registers.size(), false);
    std::vector<bool> defined(f_.registers.size(), false);
    for (const ptx::Instruction& inst : f_.body) {
      for_each_register(inst, [&](uint32_t r, bool written) {
        if (!written) return;
        if (defined[r] || inst.guard.reg != ptx::kNoIndex) several_[r] = true;
        defined[r] = true;
      });
    }
    find_roots();
  }

  // 32-bit registers, at the place of the function where most are needed.
  uint32_t most(Counted counted) const {
    uint32_t most = 0, words = 0;
    std::vector<bool> alive;
    const auto root_of = [&](uint32_t r) {
      const bool kept = kept_[r] == Kept::value || (kept_[r] == Kept::uniform && counted == Counted::all);
      return kept ? roots_[r] : ptx::kNoIndex;
    };
    const auto start = [&](uint32_t r) {
      const uint32_t root = root_of(r);
      if (root == ptx::kNoIndex || alive[root]) return;
      alive[root] = true;
      words += words_of(root);
    };
    for (size_t b = 0; b < flow_.block_begin.size(); ++b) {
      const uint32_t begin = flow_.block_begin[b];
      const auto end =
          b + 1 < flow_.block_begin.size() ? flow_.block_begin[b + 1] : static_cast<uint32_t>(f_.body.size());
      alive.assign(f_.registers.size(), false);
      words = 0;
      for (const uint32_t next : flow_.next[b]) {
        for (const uint32_t r : liveness_.live_in[flow_.block_begin[next]]) start(r);
      }
      for (uint32_t k = end; k-- > begin;) {
        const ptx::Instruction& inst = f_.body[k];
        // What is written needs a place even if it is never read.
        for_each_register(inst, [&](uint32_t r, bool written) {
          if (written) start(r);
        });
        most = std::max(most, words);
        for_each_register(inst, [&](uint32_t r, bool written) {
          if (!written || inst.guard.reg != ptx::kNoIndex || root_of(r) != r || !alive[r]) return;
          alive[r] = false;
          words -= words_of(r);
        });
        for_each_register(inst, [&](uint32_t r, bool written) {
          if (!written) start(r);
        });
        most = std::max(most, words);
      }
    }
    return most;
  }

 private:
  uint32_t words_of(uint32_t r) const { return std::max(1u, (ptx::bits_of(f_.registers[r].type) + 31) / 32); }

  // In order of definition: what a loop carries is a value of its own.
  void find_roots() {
    roots_.resize(f_.registers.size());
    for (uint32_t r = 0; r < f_.registers.size(); ++r) roots_[r] = r;
    kept_.assign(f_.registers.size(), Kept::value);
    for (const ptx::Instruction& inst : f_.body) {
      for_each_register(inst, [&](uint32_t r, bool written) {
        if (written && !several_[r]) classify(r, inst);
      });
    }
    for (uint32_t r = 0; r < f_.registers.size(); ++r) {
      if (f_.registers[r].type == ptx::Type::pred) kept_[r] = Kept::nothing;
    }
  }

  bool is_uniform(const ptx::Operand& op) const {
    if (op.kind == OperandKind::reg) return kept_[op.index] == Kept::uniform;
    if (op.kind != OperandKind::special) return true;
    const auto special = static_cast<ptx::SpecialReg>(op.index);
    return special >= ptx::SpecialReg::ntid_x && special <= ptx::SpecialReg::nctaid_z;
  }

  void classify(uint32_t r, const ptx::Instruction& inst) {
    if (inst.form == Form::ld && !inst.spaces.empty() && inst.spaces[0] == ptx::Space::param) {
      kept_[r] = Kept::uniform;
      return;
    }
    // Copies, and the halves of a register, are read where they are.
    const bool copies = inst.form == Form::mov || inst.form == Form::cvta || inst.form == Form::cvta_to ||
                        (inst.form == Form::mov_unpack && ptx::bits_of(f_.registers[r].type) < 32);
    if (copies && inst.operands.size() == 2 && inst.operands[1].kind == OperandKind::reg &&
        !several_[inst.operands[1].index]) {
      roots_[r] = roots_[inst.operands[1].index];
      kept_[r] = kept_[inst.operands[1].index];
      return;
    }
    if (!ptx::traits(inst).computes || ptx::kind_of(f_.registers[r].type) == ptx::TypeKind::floating) return;
    for (size_t k = 0; k < inst.operands.size(); ++k) {
      if (is_destination(inst, k)) continue;
      const auto& elements = inst.operands[k].elements;
      if (!is_uniform(inst.operands[k])) return;
      if (!std::ranges::all_of(elements, [&](const ptx::Operand& e) { return is_uniform(e); })) return;
    }
    kept_[r] = Kept::uniform;
  }

  const ptx::Function& f_;
  const Liveness& liveness_;
  const Flow flow_;
  std::vector<bool> several_;    // written more than once, or under a guard
  std::vector<uint32_t> roots_;  // the register whose value it is
  std::vector<Kept> kept_;
};

// Instructions that are many on a GPU, and need registers of their own.
struct Helpers {
  bool divides_64 = false, divides_floats = false, doubles = false, sets_registers = false;
};

Helpers find_helpers(const ptx::Function& f) {
  Helpers found;
  for (const ptx::Instruction& inst : f.body) {
    const ptx::Type type = inst.type();
    const bool divides = inst.form == Form::div_int || inst.form == Form::rem;
    found.divides_64 |= divides && ptx::bits_of(type) == 64;
    found.divides_floats |= inst.form == Form::div_float || inst.form == Form::sqrt_float;
    found.doubles |= type == ptx::Type::f64;
    found.sets_registers |= inst.form == Form::setmaxnreg_inc || inst.form == Form::setmaxnreg_dec;
  }
  return found;
}

}  // namespace

uint32_t estimate_registers(const ptx::Function& function, const Liveness& liveness) {
  constexpr uint32_t kLeast = 8, kMost = 255, kOfMultiprocessor = 65536, kUnit = 8;
  if (function.assembled.registers != 0) return function.assembled.registers;
  const Living living(function, liveness);
  const uint32_t values = living.most(Living::Counted::values);
  const uint32_t uniform = living.most(Living::Counted::all) - values;
  const Helpers helpers = find_helpers(function);
  // Fitted to what ptxas 13.4 says of 188 kernels of the catalogue, the examples and the calibration programs: least
  // squares with weights that take the largest deviations for exceptions.
  const double fitted = 9.3 + 0.86 * values + 0.18 * uniform + 3.0 * helpers.divides_64 + 3.7 * helpers.divides_floats +
                        5.0 * helpers.doubles;
  uint32_t registers = std::clamp(static_cast<uint32_t>(std::ceil(fitted)), kLeast, kMost);
  const ptx::LaunchBounds& bounds = function.bounds;
  uint32_t threads =
      std::max(1u, bounds.max_threads[0]) * std::max(1u, bounds.max_threads[1]) * std::max(1u, bounds.max_threads[2]);
  if (bounds.required_threads[0] != 0)
    threads = bounds.required_threads[0] * std::max(1u, bounds.required_threads[1]) *
              std::max(1u, bounds.required_threads[2]);
  if (threads > 1) {
    const uint32_t most = std::clamp(kOfMultiprocessor / threads / kUnit * kUnit, kUnit, kMost);
    // Warps that exchange registers begin with as many as there are for each.
    registers = helpers.sets_registers ? most : std::min(registers, most);
  }
  if (bounds.max_registers != 0) registers = std::min(registers, bounds.max_registers);
  return registers;
}

}  // namespace fb::simt
