#include "virtual_node/machine/deadlock/needed_value.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <map>

#include "virtual_node/simt/block.h"
#include "virtual_node/simt/lower/operands.h"

namespace fb::machine {
namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Operand;
using ptx::OperandKind;
using simt::Inst;

uint64_t cut(uint64_t value, uint32_t bits) { return bits >= 64 ? value : value & ((uint64_t{1} << bits) - 1); }

int64_t sign_extended(uint64_t value, uint32_t bits) {
  const uint32_t rest = 64 - bits;
  return static_cast<int64_t>(value << rest) >> rest;
}

Relation inverse(Relation r) {
  switch (r) {
    case Relation::equal:
      return Relation::not_equal;
    case Relation::not_equal:
      return Relation::equal;
    case Relation::less:
      return Relation::at_least;
    case Relation::at_most:
      return Relation::more;
    case Relation::more:
      return Relation::at_most;
    case Relation::at_least:
      return Relation::less;
  }
  return r;
}

Relation mirrored(Relation r) {
  switch (r) {
    case Relation::less:
      return Relation::more;
    case Relation::at_most:
      return Relation::at_least;
    case Relation::more:
      return Relation::less;
    case Relation::at_least:
      return Relation::at_most;
    default:
      return r;
  }
}

struct Compare {
  Relation relation{};
  bool is_unsigned = false;  // regardless of the type
};

std::optional<Compare> compare_of(const ptx::Instruction& inst) {
  constexpr std::pair<Mod, Compare> kAll[] = {{Mod::eq, {Relation::equal}},      {Mod::ne, {Relation::not_equal}},
                                              {Mod::lt, {Relation::less}},       {Mod::le, {Relation::at_most}},
                                              {Mod::gt, {Relation::more}},       {Mod::ge, {Relation::at_least}},
                                              {Mod::lo, {Relation::less, true}}, {Mod::ls, {Relation::at_most, true}},
                                              {Mod::hi, {Relation::more, true}}, {Mod::hs, {Relation::at_least, true}}};
  for (const auto& [mod, compare] : kAll) {
    if (inst.has(mod)) return compare;
  }
  return std::nullopt;
}

// Follows the loaded value from register to register, up to the branch.
class Follower {
 public:
  Follower(const simt::Warp& warp, const simt::Split& split, uint32_t lane)
      : warp_(warp), split_(split), lane_(lane), program_(*warp.block().grid().program) {}

  std::optional<Need> find(const simt::WatchedRead& read) {
    const Inst* end = program_.code.data() + program_.code.size();
    const Inst* head = split_.ip;
    const uint32_t function = program_.origins[read.inst->origin].function;
    for (close_ = read.inst; close_ != end; ++close_) {
      if (program_.origins[close_->origin].function != function) return std::nullopt;
      if (source(*close_).form == Form::bra && close_->target == head) break;
    }
    if (close_ == end || read.inst < head) return std::nullopt;
    begin(*read.inst);
    for (const Inst* at = read.inst + 1; at <= close_; ++at) {
      if (auto need = step(*at)) return need;
    }
    return std::nullopt;
  }

 private:
  const ptx::Instruction& source(const Inst& inst) const {
    const simt::Origin origin = program_.origins[inst.origin];
    return program_.module->functions[origin.function].body[origin.index];
  }

  void begin(const Inst& load) {
    const ptx::Instruction& inst = source(load);
    if (inst.operands.empty()) return;
    const uint32_t bytes = ptx::bytes_of(inst.type());
    const Operand& d = inst.operands[0];
    Need need;
    need.bytes = bytes;
    need.bits = bytes * 8;
    if (d.kind == OperandKind::reg) values_[d.index] = need;
    for (size_t k = 0; d.kind == OperandKind::vector && k < d.elements.size(); ++k) {
      need.offset = static_cast<uint32_t>(k) * bytes;
      if (d.elements[k].kind == OperandKind::reg) values_[d.elements[k].index] = need;
    }
  }

  // A number: a literal, or a register that still holds what the instruction read.
  std::optional<uint64_t> number(const Inst& inst, size_t k) const {
    const ptx::Instruction& from = source(inst);
    const Operand& operand = from.operands[k];
    if (operand.kind == OperandKind::integer) return operand.bits;
    if (operand.kind != OperandKind::reg || k >= std::size(inst.op) || inst.op[k] == simt::kAbsent) return std::nullopt;
    const uint32_t width = inst.width[k];
    if (width == 0 || width > 8) return std::nullopt;
    for (const Inst* later = &inst; later <= close_; ++later) {
      if (later->op[0] < 0 || later->width[0] == 0 || !simt::is_destination(source(*later), 0)) continue;
      const bool apart = later->op[0] + 32 * later->width[0] <= inst.op[k] ||
                         inst.op[k] + static_cast<int32_t>(32 * width) <= later->op[0];
      if (!apart) return std::nullopt;
    }
    const std::byte* base =
        inst.op[k] < 0 ? program_.constants.data() + program_.constants.size() : warp_.frame_of(split_);
    uint64_t value = 0;
    std::memcpy(&value, base + inst.op[k] + lane_ * width, width);
    return value;
  }

  const Need* followed(const Operand& operand) const {
    if (operand.kind != OperandKind::reg) return nullptr;
    const auto found = values_.find(operand.index);
    return found == values_.end() ? nullptr : &found->second;
  }

  std::optional<Need> step(const Inst& at) {
    const ptx::Instruction& inst = source(at);
    if (inst.form == Form::bra) return branch(at, inst);
    std::optional<Need> value, predicate;
    switch (inst.form) {
      case Form::mov:
        if (const Need* a = followed(inst.operands[1])) value = *a;
        if (inst.operands[1].kind == OperandKind::reg && predicates_.contains(inst.operands[1].index))
          predicate = predicates_.at(inst.operands[1].index);
        break;
      case Form::cvt_int_to_int:
        if (const Need* a = followed(inst.operands[1])) value = convert(*a, inst);
        break;
      case Form::shr_logical:
        if (const Need* a = followed(inst.operands[1])) value = upper_bytes(*a, number(at, 2));
        break;
      case Form::mov_unpack:
        unpack(inst);
        return std::nullopt;
      case Form::and_:
      case Form::xor_:
      case Form::add_int:
      case Form::sub_int:
        value = arithmetic(at, inst);
        break;
      case Form::setp_int:
        predicate = compare(at, inst);
        break;
      case Form::not_pred:
      case Form::and_pred:
      case Form::or_pred:
        for (size_t k = 1; k < inst.operands.size() && !predicate; ++k) {
          const Operand& p = inst.operands[k];
          if (p.kind != OperandKind::reg || !predicates_.contains(p.index)) continue;
          predicate = predicates_.at(p.index);
          if ((inst.form == Form::not_pred) != p.negated) predicate->relation = inverse(predicate->relation);
        }
        break;
      default:
        break;
    }
    forget_written(inst);
    if (inst.guard.reg != ptx::kNoIndex) return std::nullopt;
    const Operand* d = inst.operands.empty() ? nullptr : &inst.operands[0];
    if (value && d->kind == OperandKind::reg) values_[d->index] = *value;
    if (predicate && d->kind == OperandKind::reg) predicates_[d->index] = *predicate;
    return std::nullopt;
  }

  void forget_written(const ptx::Instruction& inst) {
    for (size_t k = 0; k < inst.operands.size(); ++k) {
      if (!simt::is_destination(inst, k)) continue;
      const Operand& d = inst.operands[k];
      values_.erase(d.index);
      predicates_.erase(d.index);
      for (const Operand& e : d.elements) {
        values_.erase(e.index);
        predicates_.erase(e.index);
      }
    }
  }

  static std::optional<Need> convert(Need need, const ptx::Instruction& inst) {
    const uint32_t bits = ptx::bits_of(inst.type(0)), from = ptx::bits_of(inst.type(1));
    const bool plain = need.add == 0 && need.flip == 0 && !need.negative;
    // A wider value compares like the narrow one; a narrower one only if nothing was computed from it before.
    if (bits < need.bits && !plain) return std::nullopt;
    if (bits < need.bits || from < need.bits) {
      need.bits = std::min(bits, from);
      need.bytes = std::min(need.bytes, need.bits / 8);
    }
    return need;
  }

  static bool is_as_loaded(const Need& need) {
    return need.add == 0 && need.flip == 0 && !need.negative && need.mask == ~uint64_t{0};
  }

  // A number in the upper part of a word: word >> 32.
  static std::optional<Need> upper_bytes(Need need, std::optional<uint64_t> shift) {
    if (!shift || *shift % 8 != 0 || *shift / 8 >= need.bytes || !is_as_loaded(need)) return std::nullopt;
    need.offset += static_cast<uint32_t>(*shift / 8);
    need.bytes -= static_cast<uint32_t>(*shift / 8);
    return need;
  }

  // mov.b64 {lower, upper}, word.
  void unpack(const ptx::Instruction& inst) {
    const Need* found = inst.operands.size() > 1 ? followed(inst.operands[1]) : nullptr;
    const std::optional<Need> word = found ? std::optional(*found) : std::nullopt;
    forget_written(inst);
    if (!word || inst.guard.reg != ptx::kNoIndex || !is_as_loaded(*word)) return;
    const auto& parts = inst.operands[0].elements;
    const uint32_t bytes = parts.empty() ? 0 : ptx::bytes_of(inst.type()) / static_cast<uint32_t>(parts.size());
    if (bytes == 0 || word->bytes != bytes * parts.size()) return;
    for (size_t k = 0; k < parts.size(); ++k) {
      Need part = *word;
      part.offset += static_cast<uint32_t>(k) * bytes;
      part.bytes = bytes;
      part.bits = bytes * 8;
      if (parts[k].kind == OperandKind::reg) values_[parts[k].index] = part;
    }
  }

  std::optional<Need> arithmetic(const Inst& at, const ptx::Instruction& inst) const {
    const Need* a = followed(inst.operands[1]);
    const Need* b = followed(inst.operands[2]);
    if ((a != nullptr) == (b != nullptr)) return std::nullopt;
    const auto other = number(at, a ? 2 : 1);
    if (!other) return std::nullopt;
    Need need = a ? *a : *b;
    const bool whole = cut(need.mask, need.bits) == cut(~uint64_t{0}, need.bits);
    const uint64_t o = *other;
    switch (inst.form) {
      case Form::and_:
        need.mask &= o;
        return need;
      case Form::xor_:
        if (!whole) return std::nullopt;
        need.flip ^= o;
        return need;
      case Form::add_int:
        if (!whole || need.flip != 0) return std::nullopt;
        need.add += o;
        return need;
      case Form::sub_int:
        if (!whole || need.flip != 0) return std::nullopt;
        if (a) {
          need.add -= o;
        } else {
          need.add = o - need.add;
          need.negative = !need.negative;
        }
        return need;
      default:
        return std::nullopt;
    }
  }

  std::optional<Need> compare(const Inst& at, const ptx::Instruction& inst) const {
    constexpr size_t kA = 2, kB = 3;  // behind p and q
    if (inst.operands.size() <= kB) return std::nullopt;
    const Need* a = followed(inst.operands[kA]);
    const Need* b = followed(inst.operands[kB]);
    const auto how = compare_of(inst);
    if ((a != nullptr) == (b != nullptr) || !how) return std::nullopt;
    const auto other = number(at, a ? kB : kA);
    if (!other) return std::nullopt;
    Need need = a ? *a : *b;
    need.relation = a ? how->relation : mirrored(how->relation);
    need.is_signed = !how->is_unsigned && ptx::kind_of(inst.type()) == ptx::TypeKind::signed_int;
    need.value = cut(*other, need.bits);
    return need;
  }

  std::optional<Need> branch(const Inst& at, const ptx::Instruction& inst) const {
    if (inst.guard.reg == ptx::kNoIndex) return std::nullopt;
    const auto found = predicates_.find(inst.guard.reg);
    if (found == predicates_.end()) return std::nullopt;
    const auto is_inside = [&](const Inst* target) { return target >= split_.ip && target <= close_; };
    bool leaves = !is_inside(at.target);
    if (!leaves && &at != close_) {
      // Skips the branch that leaves the loop.
      const Inst* next = &at + 1;
      const bool way_out = next <= close_ && source(*next).form == Form::bra && !is_inside(next->target);
      if (!way_out) return std::nullopt;
    }
    Need need = found->second;
    if (leaves == inst.guard.negated) need.relation = inverse(need.relation);
    return need;
  }

  const simt::Warp& warp_;
  const simt::Split& split_;
  const uint32_t lane_;
  const simt::Program& program_;
  const Inst* close_ = nullptr;                   // the branch that closes the loop
  std::map<uint32_t, Need> values_, predicates_;  // by register
};

}  // namespace

uint64_t Need::part(uint64_t seen) const { return cut(seen >> (offset * 8), bytes * 8); }

bool Need::holds(uint64_t seen) const {
  const uint64_t v = part(seen);
  const uint64_t t = cut((((negative ? ~v + 1 : v) + add) ^ flip) & mask, bits);
  const auto order = [&] {
    if (!is_signed) return t < value ? -1 : t > value ? 1 : 0;
    const int64_t a = sign_extended(t, bits), b = sign_extended(value, bits);
    return a < b ? -1 : a > b ? 1 : 0;
  }();
  switch (relation) {
    case Relation::equal:
      return order == 0;
    case Relation::not_equal:
      return order != 0;
    case Relation::less:
      return order < 0;
    case Relation::at_most:
      return order <= 0;
    case Relation::more:
      return order > 0;
    case Relation::at_least:
      return order >= 0;
  }
  return false;
}

std::optional<uint64_t> Need::number() const {
  if (flip != 0 || cut(mask, bits) != cut(~uint64_t{0}, bits)) return std::nullopt;
  return cut(negative ? add - value : value - add, bits);
}

std::optional<uint64_t> Need::least() const {
  const auto n = number();
  switch (negative ? mirrored(relation) : relation) {
    case Relation::equal:
    case Relation::at_least:
      return n;
    case Relation::more:
      return n ? std::optional(cut(*n + 1, bits)) : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::string Need::text() const {
  const Relation r = negative ? mirrored(relation) : relation;
  constexpr const char* kWords[] = {"", "other than ", "< ", "<= ", "> ", ">= "};
  const char* word = kWords[static_cast<size_t>(r)];
  if (const auto n = number()) {
    const int64_t s = sign_extended(*n, bits);
    return is_signed && s < 0 && add == 0 ? fmt::format("{}{}", word, s) : fmt::format("{}{}", word, *n);
  }
  const uint64_t top = uint64_t{1} << (bits - 1);
  const bool looks_at_sign =
      is_signed && ((value == 0 && (r == Relation::less || r == Relation::at_least)) ||
                    (value == cut(~uint64_t{0}, bits) && (r == Relation::more || r == Relation::at_most)));
  if (flip != 0 && looks_at_sign) {
    const bool set = (r == Relation::less || r == Relation::at_most) != ((flip & top) != 0);
    return fmt::format("bit {} to be {}", bits - 1, set ? 1 : 0);
  }
  if (flip == 0) return fmt::format("value & {:#x} to be {}{}", cut(mask, bits), word, value);
  return fmt::format("(value ^ {:#x}) & {:#x} to be {}{}", cut(flip, bits), cut(mask, bits), word, value);
}

std::optional<Need> find_need(const simt::Warp& warp, const simt::Split& split, const simt::WatchedRead& read,
                              uint32_t lane) {
  return Follower(warp, split, lane).find(read);
}

}  // namespace fb::machine
