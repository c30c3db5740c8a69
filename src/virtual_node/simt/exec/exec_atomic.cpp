// Atomic operations: atom and red.
//
// Ordering first: lanes are performed one after the other, lowest first, so that lanes on one address see each other's
// results and a run is deterministic. The engine is one thread: whatever a lane does is atomic and visible at once, for
// every scope; orders and scopes are reported to listeners, which judge them.
//
// Nothing here works on lanes side by side, so the code exists once and not per SIMD target.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_atomic.cpp"
#include <hwy/foreach_target.h>

#include "virtual_node/simt/exec/access.h"

namespace fb::simt::atomics {

Exec select_atom(const ptx::Instruction& inst);
Exec select_cas(const ptx::Instruction& inst);
Exec select_red(const ptx::Instruction& inst);

}  // namespace fb::simt::atomics

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {

FB_EXEC(atom_op2) { return atomics::select_atom(s.inst); }
FB_EXEC(atom_vec) { return atomics::select_atom(s.inst); }
FB_EXEC(atom_cas) { return atomics::select_cas(s.inst); }
FB_EXEC(red) { return atomics::select_red(s.inst); }
FB_EXEC(red_vec) { return atomics::select_red(s.inst); }

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "virtual_node/num/arith.h"
#include "virtual_node/num/half_arith.h"
#include "virtual_node/num/integer.h"
#include "virtual_node/num/minmax.h"

namespace fb::simt::atomics {
namespace {

using namespace fb::simt::HWY_NAMESPACE;
using ptx::Mod;
using ptx::Space;
using ptx::Type;
using Wide = unsigned __int128;  // b128

// The lanes' operands in memory

struct Locations {
  std::byte* host[kLanes];
  const mem::Address* address = nullptr;
  Mask shared = 0;  // lanes whose operand is in shared memory
  AddressRow buffer;
};

// `reads`: the result depends on the old value, so there must be one.
template <uint32_t kBytes, Space kSpace>
void resolve_by_lane(Warp& w, const Inst& i, bool reads, Locations& locations) {
  each_lane(w.exec, [&](uint32_t l) {
    const mem::Address a = locations.address[l];
    if (kSpace == Space::generic && (mem::is_local(a) || mem::is_param(a))) {
      w.trap(TrapKind::invalid_operand, i, l, "atomic operations work on global and shared memory only", a, kBytes);
    }
    locations.host[l] = w.resolve(i, kSpace, l, a, kBytes);
    if (!w.block().grid().check_uninitialised_shared) return;
    if (reads) w.check_initialised(i, l, locations.host[l], a, kBytes);
    w.mark_initialised(locations.host[l], kBytes);
  });
}

// The operands of the executing lanes, all checked before the first is changed; told to the listener.
template <uint32_t kBytes, Space kSpace>
void locate(Warp& w, const Inst& i, int k, bool reads, Locations& locations) {
  const mem::Address* a = locations.address = addresses(w, i, k, locations.buffer);
  report_access(w, i, AccessKind::atomic, kSpace, a, kBytes);
  const Region r = region_around<kSpace>(w, a[std::countr_zero(w.exec)]);
  if (all_inside<kBytes>(a, w.exec, r)) [[likely]] {
    each_lane(w.exec, [&](uint32_t l) { locations.host[l] = r.host + (a[l] - r.begin); });
  } else {
    resolve_by_lane<kBytes, kSpace>(w, i, reads, locations);
  }
  if constexpr (kSpace == Space::shared || kSpace == Space::shared_cluster) locations.shared = kAllLanes;
  if constexpr (kSpace == Space::generic) {
    each_lane(w.exec, [&](uint32_t l) { locations.shared |= Mask{mem::is_shared(a[l])} << l; });
  }
}

// An operation that changed nothing is a read: a loop of such operations is a wait and may sleep.
HWY_INLINE void finish_lane(Warp& w, const Inst& i, const Locations& locations, uint32_t l, uint32_t bytes,
                            bool changed) {
  if (changed) {
    w.note_effect();
    if (!lane_in(locations.shared, l)) w.note_change();
    w.environment().watch().written(locations.host[l], bytes);
  } else if (w.recording) {
    w.note_read(locations.host[l], locations.address[l], bytes, i);
  }
}

// Operations

// An operation is a type with T and apply(old, b, shared).
template <class Value, auto kFunction>
struct Operation {
  using T = Value;
  static T apply(T old, T b, bool) { return kFunction(old, b); }
};

template <class T>
constexpr T add(T a, T b) {
  return static_cast<T>(a + b);
}
template <class T>
constexpr T bit_and(T a, T b) {
  return a & b;
}
template <class T>
constexpr T bit_or(T a, T b) {
  return a | b;
}
template <class T>
constexpr T bit_xor(T a, T b) {
  return a ^ b;
}
// PTX ISA, atom: inc(r, s) = (r >= s) ? 0 : r+1; dec(r, s) = (r==0 || r > s) ? s : r-1.
constexpr uint32_t increment(uint32_t old, uint32_t bound) { return old >= bound ? 0 : old + 1; }
constexpr uint32_t decrement(uint32_t old, uint32_t bound) { return old == 0 || old > bound ? bound : old - 1; }

template <class Value>
struct Exchange {
  using T = Value;
  static T apply(T, T b, bool) { return b; }
};

template <class Op>
constexpr bool kReadsOld = true;
template <class T>
constexpr bool kReadsOld<Exchange<T>> = false;

// PTX ISA, atom and red: add.f32 "on global memory flushes subnormal inputs and results to sign-preserving zero;
// whereas [it] on shared memory supports subnormal inputs and results and doesn't flush them to zero".
struct AddF32 {
  using T = float;
  static float apply(float old, float b, bool shared) {
    return shared ? num::add(old, b) : num::add<num::Mods{.ftz = true}>(old, b);
  }
};

constexpr auto kAddF64 = [](double a, double b) { return num::add(a, b); };
constexpr auto kAddF16 = [](uint16_t a, uint16_t b) { return num::add_f16(a, b); };
constexpr auto kMinF16 = [](uint16_t a, uint16_t b) { return num::min_f16(a, b); };
constexpr auto kMaxF16 = [](uint16_t a, uint16_t b) { return num::max_f16(a, b); };
constexpr auto kAddBf16 = [](uint16_t a, uint16_t b) { return num::add_bf16(a, b); };
constexpr auto kMinBf16 = [](uint16_t a, uint16_t b) { return num::min_bf16(a, b); };
constexpr auto kMaxBf16 = [](uint16_t a, uint16_t b) { return num::max_bf16(a, b); };

template <auto kHalf>
constexpr auto kPair = [](uint32_t a, uint32_t b) { return num::pairwise<kHalf>(a, b); };

// Performing them

// What becomes of the old value.
enum class Old : uint8_t {
  returned,  // atom d, [a], b
  dropped,   // atom _, [a], b
  unasked,   // red [a], b
};

// Element n of vector operand k, or the operand itself.
template <uint32_t kCount>
HWY_INLINE int32_t element_row(const Inst& i, int k, uint32_t n) {
  return kCount == 1 ? i.op[k] : i.list[i.op[k] + static_cast<int32_t>(n)];
}

template <class Op, uint32_t kCount, Old kOld>
const Inst* perform(Warp& w, const Inst& i, const Locations& locations) {
  using T = typename Op::T;
  constexpr int kSource = kOld == Old::unasked ? 1 : 2;
  const T* b[kCount];
  T* d[kCount] = {};
  for (uint32_t n = 0; n < kCount; ++n) {
    b[n] = w.src<T>(element_row<kCount>(i, kSource, n));
    if constexpr (kOld == Old::returned) d[n] = w.row<T>(element_row<kCount>(i, 0, n));
  }
  each_lane(w.exec, [&](uint32_t l) {
    T old[kCount], fresh[kCount];
    std::memcpy(old, locations.host[l], sizeof old);
    for (uint32_t n = 0; n < kCount; ++n) fresh[n] = Op::apply(old[n], b[n][l], lane_in(locations.shared, l));
    const bool changed = std::memcmp(old, fresh, sizeof old) != 0;
    if (changed) std::memcpy(locations.host[l], fresh, sizeof fresh);
    finish_lane(w, i, locations, l, sizeof old, changed);
    if constexpr (kOld == Old::returned) {
      for (uint32_t n = 0; n < kCount; ++n) d[n][l] = old[n];
    }
  });
  return &i + 1;
}

template <class Op, uint32_t kCount, Old kOld, Space kSpace>
const Inst* run(Warp& w, const Inst& i) {
  Locations locations;
  locate<sizeof(typename Op::T) * kCount, kSpace>(w, i, kOld == Old::unasked ? 0 : 1, kReadsOld<Op>, locations);
  return perform<Op, kCount, kOld>(w, i, locations);
}

template <class T>
const Inst* compare_and_swap(Warp& w, const Inst& i, const Locations& locations) {
  const T* expected = w.src<T>(i.op[2]);
  const T* desired = w.src<T>(i.op[3]);
  T* d = w.row<T>(i.op[0]);
  each_lane(w.exec, [&](uint32_t l) {
    T old;
    std::memcpy(&old, locations.host[l], sizeof old);
    const bool changed = old == expected[l] && old != desired[l];
    if (changed) std::memcpy(locations.host[l], &desired[l], sizeof old);
    finish_lane(w, i, locations, l, sizeof old, changed);
    d[l] = old;
  });
  return &i + 1;
}

template <class T, Space kSpace>
const Inst* run_cas(Warp& w, const Inst& i) {
  Locations locations;
  locate<sizeof(T), kSpace>(w, i, 1, true, locations);
  return compare_and_swap<T>(w, i, locations);
}

// Selection

// f<space>() for the spaces that atomic operations know.
template <class F>
Exec by_atomic_space(const ptx::Instruction& inst, F f) {
  switch (inst.spaces.empty() ? Space::generic : inst.spaces.front()) {
    case Space::generic:
      return f.template operator()<Space::generic>();
    case Space::global:
      return f.template operator()<Space::global>();
    case Space::shared:
      return f.template operator()<Space::shared>();
    case Space::shared_cluster:
      return f.template operator()<Space::shared_cluster>();
    default:
      return nullptr;
  }
}

// f<Operation>() of scalars, for the combinations that PTX has.
template <class T, class F>
Exec by_arithmetic(const ptx::Instruction& inst, F f) {
  if (inst.has(Mod::add))
    return f.template operator()<Operation<std::make_unsigned_t<T>, &add<std::make_unsigned_t<T>>>>();
  if (inst.has(Mod::min)) return f.template operator()<Operation<T, &num::min<T>>>();
  if (inst.has(Mod::max)) return f.template operator()<Operation<T, &num::max<T>>>();
  return nullptr;
}

template <class T, class F>
Exec by_logic(const ptx::Instruction& inst, F f) {
  if (inst.has(Mod::and_)) return f.template operator()<Operation<T, &bit_and<T>>>();
  if (inst.has(Mod::or_)) return f.template operator()<Operation<T, &bit_or<T>>>();
  if (inst.has(Mod::xor_)) return f.template operator()<Operation<T, &bit_xor<T>>>();
  if (inst.has(Mod::exch)) return f.template operator()<Exchange<T>>();
  return nullptr;
}

template <class F>
Exec by_scalar_operation(const ptx::Instruction& inst, F f) {
  const bool adds = inst.has(Mod::add);
  const bool half = inst.type() == Type::f16 || inst.type() == Type::f16x2 || inst.type() == Type::bf16 ||
                    inst.type() == Type::bf16x2;
  // "requires the .noftz qualifier", and only these have it.
  if (half != inst.has(Mod::noftz)) return nullptr;
  switch (inst.type()) {
    case Type::u32:
      if (inst.has(Mod::inc)) return f.template operator()<Operation<uint32_t, &increment>>();
      if (inst.has(Mod::dec)) return f.template operator()<Operation<uint32_t, &decrement>>();
      return by_arithmetic<uint32_t>(inst, f);
    case Type::s32:
      return by_arithmetic<int32_t>(inst, f);
    case Type::u64:
      return by_arithmetic<uint64_t>(inst, f);
    case Type::s64:
      return by_arithmetic<int64_t>(inst, f);
    case Type::b32:
      return by_logic<uint32_t>(inst, f);
    case Type::b64:
      return by_logic<uint64_t>(inst, f);
    case Type::b128:
      return inst.has(Mod::exch) ? f.template operator()<Exchange<Wide>>() : nullptr;
    case Type::f32:
      return adds ? f.template operator()<AddF32>() : nullptr;
    case Type::f64:
      return adds ? f.template operator()<Operation<double, kAddF64>>() : nullptr;
    case Type::f16:
      return adds ? f.template operator()<Operation<uint16_t, kAddF16>>() : nullptr;
    case Type::bf16:
      return adds ? f.template operator()<Operation<uint16_t, kAddBf16>>() : nullptr;
    case Type::f16x2:
      return adds ? f.template operator()<Operation<uint32_t, kPair<kAddF16>>>() : nullptr;
    case Type::bf16x2:
      return adds ? f.template operator()<Operation<uint32_t, kPair<kAddBf16>>>() : nullptr;
    default:
      return nullptr;
  }
}

// f<Operation, count>() of vectors: .v2 and .v4, and .v8 of 16-bit elements.
template <class Op, class F>
Exec by_count(const ptx::Instruction& inst, F f) {
  if (inst.has(Mod::v2)) return f.template operator()<Op, 2>();
  if (inst.has(Mod::v4)) return f.template operator()<Op, 4>();
  if constexpr (sizeof(typename Op::T) == 2) {
    if (inst.has(Mod::v8)) return f.template operator()<Op, 8>();
  }
  return nullptr;
}

template <class T, auto kAdd, auto kMin, auto kMax, class F>
Exec by_half_operation(const ptx::Instruction& inst, F f) {
  if (!inst.has(Mod::noftz)) return nullptr;
  if (inst.has(Mod::add)) return by_count<Operation<T, kAdd>>(inst, f);
  if (inst.has(Mod::min)) return by_count<Operation<T, kMin>>(inst, f);
  if (inst.has(Mod::max)) return by_count<Operation<T, kMax>>(inst, f);
  return nullptr;
}

template <class F>
Exec by_vector_operation(const ptx::Instruction& inst, F f) {
  switch (inst.type()) {
    case Type::f32:
      return inst.has(Mod::add) && !inst.has(Mod::noftz) ? by_count<AddF32>(inst, f) : nullptr;
    case Type::f16:
      return by_half_operation<uint16_t, kAddF16, kMinF16, kMaxF16>(inst, f);
    case Type::bf16:
      return by_half_operation<uint16_t, kAddBf16, kMinBf16, kMaxBf16>(inst, f);
    case Type::f16x2:
      return by_half_operation<uint32_t, kPair<kAddF16>, kPair<kMinF16>, kPair<kMaxF16>>(inst, f);
    case Type::bf16x2:
      return by_half_operation<uint32_t, kPair<kAddBf16>, kPair<kMinBf16>, kPair<kMaxBf16>>(inst, f);
    default:
      return nullptr;
  }
}

template <Old kOld>
Exec select_operation(const ptx::Instruction& inst) {
  if (inst.has(Mod::v2) || inst.has(Mod::v4) || inst.has(Mod::v8)) {
    return by_vector_operation(inst, [&]<class Op, uint32_t kCount>() -> Exec {
      // Vectors exist in global memory only.
      if (inst.spaces.empty()) return &run<Op, kCount, kOld, Space::generic>;
      return inst.spaces.front() == Space::global ? &run<Op, kCount, kOld, Space::global> : nullptr;
    });
  }
  return by_scalar_operation(inst, [&]<class Op>() -> Exec {
    return by_atomic_space(inst, [&]<Space kSpace>() -> Exec { return &run<Op, 1, kOld, kSpace>; });
  });
}

}  // namespace

Exec select_atom(const ptx::Instruction& inst) {
  const bool sink = !inst.operands.empty() && inst.operands[0].kind == ptx::OperandKind::sink;
  return sink ? select_operation<Old::dropped>(inst) : select_operation<Old::returned>(inst);
}

Exec select_red(const ptx::Instruction& inst) {
  // exch without its result would be a store.
  return inst.has(Mod::exch) ? nullptr : select_operation<Old::unasked>(inst);
}

Exec select_cas(const ptx::Instruction& inst) {
  return by_atomic_space(inst, [&]<Space kSpace>() -> Exec {
    switch (inst.type()) {
      case Type::b16:
        return &run_cas<uint16_t, kSpace>;
      case Type::b32:
        return &run_cas<uint32_t, kSpace>;
      case Type::b64:
        return &run_cas<uint64_t, kSpace>;
      case Type::b128:
        return &run_cas<Wide, kSpace>;
      default:
        return nullptr;
    }
  });
}

}  // namespace fb::simt::atomics

#endif  // HWY_ONCE
