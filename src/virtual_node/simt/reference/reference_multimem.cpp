// The slow engine: multimem loads, stores and reductions, element by element on numbers. Members follow in the order of
// the multicast object's list.

#include <cstring>

#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/multicast_ref.h"
#include "virtual_node/simt/reference/reference_operands.h"

namespace fb::simt::reference {
namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Type;

bool is_small(Type type) {
  switch (type) {
    case Type::e4m3:
    case Type::e4m3x2:
    case Type::e4m3x4:
    case Type::e5m2:
    case Type::e5m2x2:
    case Type::e5m2x4:
      return true;
    default:
      return false;
  }
}

const Format& element_format(Type type) {
  if (type == Type::e4m3x4) return kE4m3;
  return type == Type::e5m2x4 ? kE5m2 : format_of(type);
}

bool is_float(Type type) {
  return ptx::kind_of(type) == ptx::TypeKind::floating || ptx::kind_of(type) == ptx::TypeKind::packed;
}

// Bits of one element: a packed value has several.
uint32_t reduced_bits(Type type) {
  return is_float(type) ? static_cast<uint32_t>(total_bits(element_format(type))) : ptx::bits_of(type);
}

// Two elements

uint64_t combine_integers(const ptx::Instruction& inst, uint64_t a, uint64_t b) {
  const I128 x = as_integer(a, inst.type()), y = as_integer(b, inst.type());
  if (inst.has(Mod::min)) return x < y ? a : b;
  if (inst.has(Mod::max)) return x > y ? a : b;
  if (inst.has(Mod::and_)) return a & b;
  if (inst.has(Mod::or_)) return a | b;
  if (inst.has(Mod::xor_)) return a ^ b;
  return a + b;
}

uint64_t convert(uint64_t code, const Format& from, const Format& to, bool saturate) {
  return encode(decode(code, from), to, Rounding::nearest_even, saturate);
}

// The sum in format `f`; 8-bit formats saturate.
uint64_t add_floats(uint64_t a, uint64_t b, const Format& f, bool ftz) {
  if (total_bits(f) > 8) return add_codes(a, b, f, Rounding::nearest_even, ftz);
  return encode(add(decode(a, f), decode(b, f), Rounding::nearest_even), f, Rounding::nearest_even, true);
}

// One element of all members

uint64_t reduce_floats(const ptx::Instruction& inst, const std::vector<uint64_t>& codes) {
  const Format& f = element_format(inst.type());
  uint64_t total = codes[0];
  if (!inst.has(Mod::add)) {
    for (size_t m = 1; m < codes.size(); ++m)
      total = min_max_codes(total, codes[m], f, inst.has(Mod::max), false, false);
    return total;
  }
  if (!inst.has(Mod::acc_f32) && !inst.has(Mod::acc_f16)) {
    for (size_t m = 1; m < codes.size(); ++m) total = add_floats(total, codes[m], f, false);
    return total;
  }
  const Format& wide = inst.has(Mod::acc_f32) ? kF32 : kF16;
  total = convert(total, f, wide, false);
  for (size_t m = 1; m < codes.size(); ++m) total = add_floats(total, convert(codes[m], f, wide, false), wide, false);
  return convert(total, wide, f, is_small(inst.type()));
}

uint64_t reduce_members(const ptx::Instruction& inst, const std::vector<uint64_t>& codes) {
  if (is_float(inst.type())) return reduce_floats(inst, codes);
  uint64_t total = codes[0];
  for (size_t m = 1; m < codes.size(); ++m) total = combine_integers(inst, total, codes[m]);
  return total;
}

// Instructions

struct Request {
  const ptx::Instruction& inst;
  uint32_t registers = 1;  // of the vector
  uint32_t width = 0;      // bytes of each
  uint32_t bytes = 0;      // of all
  mem::Address address[kLanes] = {};
};

Request find_request(Warp& w, const Inst& i, const Operands& operands, AccessKind kind) {
  const ptx::Instruction& inst = operands.inst();
  const size_t k = inst.form == Form::multimem_ld_reduce ? 1 : 0;
  Request request{inst};
  request.registers = inst.has(Mod::v8) ? 8 : inst.has(Mod::v4) ? 4 : inst.has(Mod::v2) ? 2 : 1;
  request.width = ptx::bytes_of(inst.type());
  request.bytes = request.registers * request.width;
  each_executing(w, [&](uint32_t lane) {
    std::memcpy(&request.address[lane], w.src<std::byte>(i.op[k]) + size_t{lane} * i.width[k], i.width[k]);
    request.address[lane] += static_cast<uint64_t>(i.imm);
  });
  if (w.listener()) {
    w.listener()->on_access(w, {kind, order_of(i), scope_of(i), Proxy::multimem, static_cast<uint8_t>(request.bytes),
                                w.exec, request.address, &i});
  }
  return request;
}

uint64_t load_bits(const std::byte* at, uint32_t bits) {
  uint64_t value = 0;
  std::memcpy(&value, at, bits / 8);
  return value;
}

const Inst* run_load_reduce(Warp& w, const Inst& i) {
  Operands operands(w, i);
  const Request request = find_request(w, i, operands, AccessKind::load);
  const MulticastLocations locations(w, i, request.address, request.bytes);
  if (w.recording) locations.note_reads(w, i, request.address);
  const uint32_t bits = reduced_bits(request.inst.type());
  each_executing(w, [&](uint32_t lane) {
    for (uint32_t n = 0; n < request.registers; ++n) {
      Bits d = 0;
      for (uint32_t at = 0; at < request.width * 8; at += bits) {
        std::vector<uint64_t> codes;
        for (const std::byte* host : locations.of(lane))
          codes.push_back(load_bits(host + n * request.width + at / 8, bits));
        d |= low(reduce_members(request.inst, codes), bits) << at;
      }
      operands.write(0, lane, d, static_cast<int>(n));
    }
  });
  return &i + 1;
}

const Inst* run_multimem_store(Warp& w, const Inst& i) {
  const Operands operands(w, i);
  const Request request = find_request(w, i, operands, AccessKind::store);
  const MulticastLocations locations(w, i, request.address, request.bytes);
  w.note_effect();
  each_executing(w, [&](uint32_t lane) {
    for (std::byte* host : locations.of(lane)) {
      for (uint32_t n = 0; n < request.registers; ++n) {
        const Bits value = operands.read(1, lane, static_cast<int>(n));
        std::memcpy(host + n * request.width, &value, request.width);
      }
      w.environment().watch().written(host, request.bytes);
    }
  });
  return &i + 1;
}

// One element of one member.
uint64_t reduce_at_member(const ptx::Instruction& inst, uint64_t old, uint64_t b) {
  if (!is_float(inst.type())) return combine_integers(inst, old, b);
  return add_floats(old, b, element_format(inst.type()), inst.type() == Type::f32);
}

const Inst* run_reduce(Warp& w, const Inst& i) {
  const Operands operands(w, i);
  const Request request = find_request(w, i, operands, AccessKind::atomic);
  const MulticastLocations locations(w, i, request.address, request.bytes);
  const uint32_t bits = reduced_bits(request.inst.type());
  each_executing(w, [&](uint32_t lane) {
    for (std::byte* host : locations.of(lane)) {
      bool changed = false;
      for (uint32_t n = 0; n < request.registers; ++n) {
        const Bits b = operands.read(1, lane, static_cast<int>(n));
        for (uint32_t at = 0; at < request.width * 8; at += bits) {
          std::byte* element = host + n * request.width + at / 8;
          const uint64_t old = load_bits(element, bits);
          const auto fresh = static_cast<uint64_t>(
              low(reduce_at_member(request.inst, old, static_cast<uint64_t>(low(b >> at, bits))), bits));
          std::memcpy(element, &fresh, bits / 8);
          changed = changed || fresh != old;
        }
      }
      if (changed) {
        w.note_effect();
        w.environment().watch().written(host, request.bytes);
      } else if (w.recording) {
        w.note_read(host, request.address[lane], request.bytes, i);
      }
    }
  });
  return &i + 1;
}

}  // namespace

Exec multimem_handler(const Selection& s) {
  switch (s.inst.form) {
    case Form::multimem_ld_reduce:
      return run_load_reduce;
    case Form::multimem_st:
      return run_multimem_store;
    case Form::multimem_red:
      return run_reduce;
    default:
      return nullptr;
  }
}

}  // namespace fb::simt::reference
