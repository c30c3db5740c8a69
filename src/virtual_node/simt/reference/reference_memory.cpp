// The slow engine: loads, stores and atomics, every lane's bytes found and moved by themselves. All lanes are checked
// before the first is changed; lanes follow each other, lowest first.

#include <cstring>

#include "virtual_node/mem/layout.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/lower/operands.h"
#include "virtual_node/simt/reference/reference_operands.h"

namespace fb::simt::reference {
namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Space;
using ptx::Type;

Space space_of(const ptx::Instruction& inst) { return inst.spaces.empty() ? Space::generic : inst.spaces[0]; }

size_t address_operand(const ptx::Instruction& inst) {
  size_t k = 0;
  while (inst.operands[k].kind != ptx::OperandKind::address) ++k;
  return k;
}

int vector_length(const ptx::Instruction& inst) {
  return inst.has(Mod::v8) ? 8 : inst.has(Mod::v4) ? 4 : inst.has(Mod::v2) ? 2 : 1;
}

// Addresses of each executing lane's bytes.
struct Locations {
  mem::Address generic[kLanes] = {};
  std::byte* host[kLanes] = {};
};

Locations find(Warp& w, const Inst& i, const Operands& operands, AccessKind kind, uint32_t bytes) {
  const ptx::Instruction& inst = operands.inst();
  const size_t k = address_operand(inst);
  const Space space = reaches_stack(operands.function(), inst) ? Space::local : space_of(inst);
  mem::Address address[kLanes] = {};
  Locations locations;
  each_executing(w, [&](uint32_t lane) {
    uint64_t base = 0;
    std::memcpy(&base, w.src<std::byte>(i.op[k]) + size_t{lane} * i.width[k], i.width[k]);
    base += static_cast<uint64_t>(i.imm);
    address[lane] = i.width[k] == 4 ? base & 0xFFFF'FFFF : base;
    locations.generic[lane] = address[lane] + window_base(space);
  });
  if (w.listener()) {
    w.listener()->on_access(w, {kind, order_of(i), scope_of(i), Proxy::generic, static_cast<uint8_t>(bytes), w.exec,
                                locations.generic, &i});
  }
  each_executing(w, [&](uint32_t lane) {
    const mem::Address a = address[lane];
    if (kind == AccessKind::atomic && space == Space::generic && (mem::is_local(a) || mem::is_param(a))) {
      w.trap(TrapKind::invalid_operand, i, lane, "atomic operations work on global and shared memory only", a, bytes);
    }
    locations.host[lane] = w.resolve(i, space, lane, a, bytes);
    if (!w.block().grid().check_uninitialised_shared) return;
    const bool reads = kind == AccessKind::load || (kind == AccessKind::atomic && !inst.has(Mod::exch));
    if (reads) w.check_initialised(i, lane, locations.host[lane], a, bytes);
    if (kind != AccessKind::load) w.mark_initialised(locations.host[lane], bytes);
  });
  return locations;
}

// Element n of a type at `at`, in 128 bits with its sign.
Bits load_element(const std::byte* at, Type type, int n) {
  Bits value = 0;
  const size_t bytes = ptx::bytes_of(type);
  std::memcpy(&value, at + bytes * static_cast<size_t>(n), bytes);
  return ptx::bits_of(type) == 128 ? value : static_cast<Bits>(as_integer(value, type));
}

void store_element(std::byte* at, Type type, int n, Bits value) {
  const size_t bytes = ptx::bytes_of(type);
  std::memcpy(at + bytes * static_cast<size_t>(n), &value, bytes);
}

// Loads and stores

const Inst* run_load(Warp& w, const Inst& i) {
  Operands operands(w, i);
  const int count = vector_length(operands.inst());
  const Type type = operands.inst().type();
  const uint32_t bytes = ptx::bytes_of(type) * static_cast<uint32_t>(count);
  const Locations locations = find(w, i, operands, AccessKind::load, bytes);
  each_executing(w, [&](uint32_t lane) {
    if (w.recording) w.note_read(locations.host[lane], locations.generic[lane], bytes, i);
    for (int n = 0; n < count; ++n) operands.write(0, lane, load_element(locations.host[lane], type, n), n);
  });
  return &i + 1;
}

const Inst* run_store(Warp& w, const Inst& i) {
  const Operands operands(w, i);
  const int count = vector_length(operands.inst());
  const Type type = operands.inst().type();
  const uint32_t bytes = ptx::bytes_of(type) * static_cast<uint32_t>(count);
  const Locations locations = find(w, i, operands, AccessKind::store, bytes);
  each_executing(w, [&](uint32_t lane) {
    for (int n = 0; n < count; ++n) store_element(locations.host[lane], type, n, operands.read(1, lane, n));
    w.note_effect();
    w.environment().watch().written(locations.host[lane], bytes);
  });
  return &i + 1;
}

// ld.param of a kernel: imm is the offset in the launch's parameters.
const Inst* run_load_kernel_param(Warp& w, const Inst& i) {
  Operands operands(w, i);
  const std::byte* at = w.block().grid().params.data() + i.imm;
  each_executing(w, [&](uint32_t lane) {
    for (int n = 0; n < vector_length(operands.inst()); ++n) {
      operands.write(0, lane, load_element(at, operands.inst().type(), n), n);
    }
  });
  return &i + 1;
}

// Parameters of calls are in the frame, lane-major: aux is their number, imm the offset.
const Inst* run_load_call_param(Warp& w, const Inst& i) {
  Operands operands(w, i);
  each_executing(w, [&](uint32_t lane) {
    const std::byte* at = w.row<std::byte>(i.op[1]) + size_t{lane} * i.aux + i.imm;
    for (int n = 0; n < vector_length(operands.inst()); ++n) {
      operands.write(0, lane, load_element(at, operands.inst().type(), n), n);
    }
  });
  return &i + 1;
}

const Inst* run_store_call_param(Warp& w, const Inst& i) {
  const Operands operands(w, i);
  each_executing(w, [&](uint32_t lane) {
    std::byte* at = w.row<std::byte>(i.op[0]) + size_t{lane} * i.aux + i.imm;
    for (int n = 0; n < vector_length(operands.inst()); ++n) {
      store_element(at, operands.inst().type(), n, operands.read(1, lane, n));
    }
  });
  return &i + 1;
}

// Atomics

Bits combine_integers(const ptx::Instruction& inst, Bits old, Bits b) {
  const I128 x = as_integer(old, inst.type()), y = as_integer(b, inst.type());
  if (inst.has(Mod::add)) return old + b;
  if (inst.has(Mod::min)) return x < y ? old : b;
  if (inst.has(Mod::max)) return x > y ? old : b;
  if (inst.has(Mod::and_)) return old & b;
  if (inst.has(Mod::or_)) return old | b;
  if (inst.has(Mod::xor_)) return old ^ b;
  if (inst.has(Mod::inc)) return x >= y ? 0 : old + 1;
  if (inst.has(Mod::dec)) return x == 0 || x > y ? b : old - 1;
  return b;  // exch
}

// f32 sums in global memory flush subnormals, those in shared memory do not.
Bits combine_floats(const ptx::Instruction& inst, Bits old, Bits b, bool in_shared) {
  const Format& f = format_of(inst.type());
  const auto bits = static_cast<uint32_t>(total_bits(f));
  const bool ftz = inst.type() == Type::f32 && !in_shared;
  Bits d = 0;
  for (int k = 0; k < lanes_of(inst.type()); ++k) {
    const uint32_t at = bits * static_cast<uint32_t>(k);
    const auto x = static_cast<uint64_t>(low(old >> at, bits)), y = static_cast<uint64_t>(low(b >> at, bits));
    d |= Bits{inst.has(Mod::add) ? add_codes(x, y, f, Rounding::nearest_even, ftz)
                                 : min_max_codes(x, y, f, inst.has(Mod::max), false, false)}
         << at;
  }
  return d;
}

Bits combine(const ptx::Instruction& inst, Bits old, Bits b, bool in_shared) {
  const auto kind = ptx::kind_of(inst.type());
  const bool floating = kind == ptx::TypeKind::floating || kind == ptx::TypeKind::packed;
  const Bits d = floating ? combine_floats(inst, old, b, in_shared) : combine_integers(inst, old, b);
  return low(d, ptx::bits_of(inst.type()));
}

const Inst* run_atomic(Warp& w, const Inst& i) {
  Operands operands(w, i);
  const ptx::Instruction& inst = operands.inst();
  const size_t address = address_operand(inst);
  const Type type = inst.type();
  const uint32_t width = ptx::bits_of(type);
  const int count = vector_length(inst);
  const uint32_t bytes = ptx::bytes_of(type) * static_cast<uint32_t>(count);
  const Locations locations = find(w, i, operands, AccessKind::atomic, bytes);
  each_executing(w, [&](uint32_t lane) {
    bool changed = false;
    Bits before[kMaxElements] = {};
    for (int n = 0; n < count; ++n) {
      const Bits old = before[n] = low(load_element(locations.host[lane], type, n), width);
      const Bits b = low(operands.read(address + 1, lane, n), width);
      Bits fresh = 0;
      if (inst.form == Form::atom_cas) {
        fresh = old == b ? low(operands.read(address + 2, lane), width) : old;
      } else {
        fresh = combine(inst, old, b, mem::is_shared(locations.generic[lane]));
      }
      changed = changed || fresh != old;
      store_element(locations.host[lane], type, n, fresh);
    }
    // Only now: registers may be read and written by one instruction.
    for (int n = 0; n < count && address == 1; ++n) operands.write(0, lane, before[n], n);
    if (changed) {
      w.note_effect();
      w.environment().watch().written(locations.host[lane], bytes);
    } else if (w.recording) {
      w.note_read(locations.host[lane], locations.generic[lane], bytes, i);
    }
  });
  return &i + 1;
}

}  // namespace

Exec memory_handler(const Selection& s) {
  switch (s.inst.form) {
    case Form::ld:
      if (s.param == ParamKind::kernel) return run_load_kernel_param;
      return s.param == ParamKind::lanes ? run_load_call_param : run_load;
    case Form::ld_nc:
    case Form::ldu:
      return run_load;
    case Form::st:
      return s.param == ParamKind::lanes ? run_store_call_param : run_store;
    case Form::atom_op2:
    case Form::atom_vec:
    case Form::atom_cas:
    case Form::red:
    case Form::red_vec:
      return run_atomic;
    default:
      return nullptr;
  }
}

}  // namespace fb::simt::reference
