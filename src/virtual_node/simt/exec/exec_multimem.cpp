// Operations on multicast addresses: multimem.ld_reduce, multimem.st, multimem.red and the bulk copies.
//
// Ordering first: lanes are performed one after the other, lowest first; for each, members follow in the order of the
// multicast object's list. PTX leaves the order of a reduction open; here it is always this one, so that sums of floats
// are the same in every run. Each lane's access to all members is one step, visible at once.
//
// Where the manual is silent: f32 sums of ld_reduce keep subnormals, those of red flush them as red does in global
// memory; 8-bit floats saturate when they are rounded, as every conversion to them does.
//
// Nothing here works on lanes side by side, so the code exists once and not per SIMD target.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_multimem.cpp"
#include <hwy/foreach_target.h>

#include "virtual_node/simt/exec/access.h"

namespace fb::simt::multimem {

Exec select_load_reduce(const ptx::Instruction& inst);
Exec select_store(const ptx::Instruction& inst);
Exec select_reduce(const ptx::Instruction& inst);
Exec select_bulk(const ptx::Instruction& inst);

}  // namespace fb::simt::multimem

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {

FB_EXEC(multimem_ld_reduce) { return multimem::select_load_reduce(s.inst); }
FB_EXEC(multimem_st) { return multimem::select_store(s.inst); }
FB_EXEC(multimem_red) { return multimem::select_reduce(s.inst); }
FB_EXEC(multimem_cp_async_bulk) { return multimem::select_bulk(s.inst); }
FB_EXEC(multimem_cp_reduce_async_bulk) { return multimem::select_bulk(s.inst); }

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <array>
#include <span>

#include "virtual_node/num/arith.h"
#include "virtual_node/num/half_arith.h"
#include "virtual_node/num/small_float.h"
#include "virtual_node/simt/async/async.h"
#include "virtual_node/simt/async/async_issue.h"
#include "virtual_node/simt/multicast_ref.h"
#include "virtual_node/simt/reduce.h"
#include "virtual_node/simt/shared_ref.h"

namespace fb::simt::multimem {
namespace {

using namespace fb::simt::HWY_NAMESPACE;
using ptx::Mod;
using ptx::Type;

// What an instruction moves

constexpr uint32_t kMaxBytes = 16;

// `count` registers of `width` bytes, one behind the other in memory.
struct Shape {
  uint32_t count = 1;
  uint32_t width = 0;
  uint32_t bytes() const { return count * width; }
};

Shape shape_of(const ptx::Instruction& inst) {
  const uint32_t count = inst.has(Mod::v8) ? 8 : inst.has(Mod::v4) ? 4 : inst.has(Mod::v2) ? 2 : 1;
  return {count, ptx::bytes_of(inst.type())};
}

// "the size of the specified type along with .vec must equal either 32-bits or 64-bits or 128-bits"; f64 and integers
// have no vectors.
bool exists(const ptx::Instruction& inst) {
  if (inst.has(Mod::add) && inst.type() == Type::s64) return false;  // u64 does the same, and the manual has it alone
  const Shape s = shape_of(inst);
  const auto kind = ptx::kind_of(inst.type());
  const bool scalar = (kind != ptx::TypeKind::floating && kind != ptx::TypeKind::packed) || inst.type() == Type::f64;
  if (scalar) return s.count == 1 && (s.width == 4 || s.width == 8);
  return s.bytes() == 4 || s.bytes() == 8 || s.bytes() == 16;
}

// A packed value lies in memory as its elements do, the lowest first.
Type element_of(Type type) {
  switch (type) {
    case Type::f16x2:
      return Type::f16;
    case Type::bf16x2:
      return Type::bf16;
    case Type::e4m3x2:
    case Type::e4m3x4:
      return Type::e4m3;
    case Type::e5m2x2:
    case Type::e5m2x4:
      return Type::e5m2;
    default:
      return type;
  }
}

using Value = std::array<std::byte, kMaxBytes>;

int32_t element_row(const Inst& i, int k, const Shape& shape, uint32_t n) {
  return shape.count == 1 ? i.op[k] : i.list[i.op[k] + static_cast<int32_t>(n)];
}

Value read_value(const Warp& w, const Inst& i, int k, const Shape& shape, uint32_t lane) {
  Value v{};
  for (uint32_t n = 0; n < shape.count; ++n) {
    std::memcpy(v.data() + n * shape.width, w.src<std::byte>(element_row(i, k, shape, n)) + size_t{lane} * shape.width,
                shape.width);
  }
  return v;
}

void write_value(Warp& w, const Inst& i, int k, const Shape& shape, uint32_t lane, const Value& v) {
  for (uint32_t n = 0; n < shape.count; ++n) {
    std::memcpy(w.row<std::byte>(element_row(i, k, shape, n)) + size_t{lane} * shape.width, v.data() + n * shape.width,
                shape.width);
  }
}

// Reductions over members

using Members = std::span<std::byte* const>;
using Gather = void (*)(std::byte* to, Members members, uint32_t bytes);

// Each element of type T is widened, combined in that precision, and rounded once at the end.
template <class T, auto kWiden, auto kCombine, auto kNarrow>
void gather(std::byte* to, Members members, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes; at += sizeof(T)) {
    const auto element = [&](const std::byte* member) {
      T code;
      std::memcpy(&code, member + at, sizeof(T));
      return kWiden(code);
    };
    auto total = element(members.front());
    for (const std::byte* member : members.subspan(1)) total = kCombine(total, element(member));
    const T result = kNarrow(total);
    std::memcpy(to + at, &result, sizeof(T));
  }
}

constexpr auto kSame = [](auto code) { return code; };
constexpr auto kAddF32 = [](float a, float b) { return num::add(a, b); };
constexpr auto kAddF16 = [](uint16_t a, uint16_t b) { return num::add_f16(a, b); };

// 8-bit formats: f16 holds every value of both. `exact` is for values that come from the format, infinity included.
struct E4m3 {
  static uint16_t widen(uint8_t code) { return num::e4m3_to_f16(code); }
  static uint8_t narrow(uint16_t value) { return num::f16_to_e4m3(value); }
  static uint8_t exact(uint16_t value) { return num::f16_to_e4m3<num::kRn>(value); }
  // The sum is exact in f32.
  static uint8_t add(uint8_t a, uint8_t b) { return num::f32_to_e4m3(num::e4m3_to_f32(a) + num::e4m3_to_f32(b)); }
};

struct E5m2 {
  static uint16_t widen(uint8_t code) { return num::e5m2_to_f16(code); }
  static uint8_t narrow(uint16_t value) { return num::f16_to_e5m2(value); }
  static uint8_t exact(uint16_t value) { return num::f16_to_e5m2<num::kRn>(value); }
  // f32 has more than 2p + 2 bits: rounding to it first changes nothing.
  static uint8_t add(uint8_t a, uint8_t b) { return num::f32_to_e5m2(num::e5m2_to_f32(a) + num::e5m2_to_f32(b)); }
};

template <class F, auto kChoose>
constexpr auto kSelect = [](uint8_t a, uint8_t b) { return F::exact(kChoose(F::widen(a), F::widen(b))); };
constexpr auto kMinF16 = [](uint16_t a, uint16_t b) { return num::min_f16(a, b); };
constexpr auto kMaxF16 = [](uint16_t a, uint16_t b) { return num::max_f16(a, b); };

template <class F>
Gather find_small(ReduceOp op, bool in_f16) {
  switch (op) {
    case ReduceOp::add:
      return in_f16 ? &gather<uint8_t, F::widen, kAddF16, F::narrow> : &gather<uint8_t, kSame, F::add, kSame>;
    case ReduceOp::min:
      return &gather<uint8_t, kSame, kSelect<F, kMinF16>, kSame>;
    case ReduceOp::max:
      return &gather<uint8_t, kSame, kSelect<F, kMaxF16>, kSame>;
    default:
      return nullptr;
  }
}

// How a load combines its members: in the type itself, two at a time, or in a wider one.
struct LoadReduction {
  Reduce pairwise = nullptr;
  uint32_t element = 1;
  Gather whole = nullptr;

  explicit operator bool() const { return pairwise || whole; }
  void operator()(std::byte* to, Members members, uint32_t bytes) const {
    if (whole) return whole(to, members, bytes);
    std::memcpy(to, members.front(), bytes);
    for (const std::byte* member : members.subspan(1)) pairwise(to, member, bytes / element);
  }
};

LoadReduction load_reduction_of(const ptx::Instruction& inst) {
  const ReduceOp op = reduce_op(inst);
  const Type element = element_of(inst.type());
  const bool half = element == Type::f16 || element == Type::bf16;
  const bool small = element == Type::e4m3 || element == Type::e5m2;
  if ((inst.has(Mod::acc_f32) && !half) || (inst.has(Mod::acc_f16) && !small)) return {};
  if (small) {
    const bool in_f16 = inst.has(Mod::acc_f16);
    return {.whole = element == Type::e4m3 ? find_small<E4m3>(op, in_f16) : find_small<E5m2>(op, in_f16)};
  }
  if (inst.has(Mod::acc_f32) && op == ReduceOp::add) {
    constexpr auto kF16 = &gather<uint16_t, num::f16_to_f32, kAddF32, num::f32_to_f16<>>;
    constexpr auto kBf16 = &gather<uint16_t, num::bf16_to_f32, kAddF32, num::f32_to_bf16<>>;
    return {.whole = element == Type::f16 ? kF16 : kBf16};
  }
  return {.pairwise = find_reduce(op, element), .element = ptx::bytes_of(element)};
}

// Floats are only added: ".redop = { .add }".
Reduce reduction_at_members(const ptx::Instruction& inst) {
  const auto kind = ptx::kind_of(inst.type());
  const bool is_float = kind == ptx::TypeKind::floating || kind == ptx::TypeKind::packed;
  if (is_float && reduce_op(inst) != ReduceOp::add) return nullptr;
  return find_reduce(reduce_op(inst), element_of(inst.type()), true);
}

// Performing them

const Inst* load_reduce(Warp& w, const Inst& i) {
  const ptx::Instruction& source = source_of(w, i);
  const Shape shape = shape_of(source);
  const LoadReduction reduce = load_reduction_of(source);
  AddressRow buffer;
  const mem::Address* a = addresses(w, i, 1, buffer);
  report_access(w, i, AccessKind::load, ptx::Space::global, a, shape.bytes(), Proxy::multimem);
  const MulticastLocations locations(w, i, a, shape.bytes());
  if (w.recording) locations.note_reads(w, i, a);
  each_lane(w.exec, [&](uint32_t lane) {
    Value v;
    reduce(v.data(), locations.of(lane), shape.bytes());
    write_value(w, i, 0, shape, lane, v);
  });
  return &i + 1;
}

const Inst* store(Warp& w, const Inst& i) {
  const Shape shape = shape_of(source_of(w, i));
  AddressRow buffer;
  const mem::Address* a = addresses(w, i, 0, buffer);
  report_access(w, i, AccessKind::store, ptx::Space::global, a, shape.bytes(), Proxy::multimem);
  const MulticastLocations locations(w, i, a, shape.bytes());
  Watch& watch = w.environment().watch();
  w.note_effect();
  w.note_change();
  each_lane(w.exec, [&](uint32_t lane) {
    const Value v = read_value(w, i, 1, shape, lane);
    for (std::byte* host : locations.of(lane)) {
      std::memcpy(host, v.data(), shape.bytes());
      watch.written(host, shape.bytes());
    }
  });
  return &i + 1;
}

const Inst* reduce_at_members(Warp& w, const Inst& i) {
  const ptx::Instruction& source = source_of(w, i);
  const Shape shape = shape_of(source);
  const Reduce reduce = reduction_at_members(source);
  const uint32_t count = shape.bytes() / ptx::bytes_of(element_of(source.type()));
  AddressRow buffer;
  const mem::Address* a = addresses(w, i, 0, buffer);
  report_access(w, i, AccessKind::atomic, ptx::Space::global, a, shape.bytes(), Proxy::multimem);
  const MulticastLocations locations(w, i, a, shape.bytes());
  each_lane(w.exec, [&](uint32_t lane) {
    const Value v = read_value(w, i, 1, shape, lane);
    for (std::byte* host : locations.of(lane)) {
      Value old;
      std::memcpy(old.data(), host, shape.bytes());
      reduce(host, v.data(), count);
      // What changed nothing is a read: a loop of such operations is a wait and may sleep.
      if (std::memcmp(old.data(), host, shape.bytes()) != 0) {
        w.note_effect();
        w.note_change();
        w.environment().watch().written(host, shape.bytes());
      } else if (w.recording) {
        w.note_read(host, a[lane], shape.bytes(), i);
      }
    }
  });
  return &i + 1;
}

// Bulk copies: shared memory to all members

struct BulkCopy {
  std::vector<MulticastPiece> to;
  const std::byte* from = nullptr;
  Reduction reduce;
  uint16_t mask = 0xFFFF;  // bit k: byte k of every 16 is copied
};

void perform(const BulkCopy& c, Watch& watch) {
  for (const MulticastPiece& piece : c.to) {
    const std::byte* from = c.from + piece.at;
    if (c.mask == 0xFFFF) {
      c.reduce.move(piece.host, from, piece.bytes);
    } else {
      for (uint64_t k = 0; k < piece.bytes; ++k) {
        if ((c.mask >> (k % 16) & 1) != 0) piece.host[k] = from[k];
      }
    }
    watch.written(piece.host, piece.bytes);
  }
}

Reduction bulk_reduction_of(const ptx::Instruction& inst) {
  if (inst.form != ptx::Form::multimem_cp_reduce_async_bulk) return {};
  return {find_reduce(reduce_op(inst), inst.type(), true), ptx::bytes_of(inst.type())};
}

// Completes later, like every bulk copy: see async.h.
const Inst* copy_to_members(Warp& w, const Inst& i) {
  const ptx::Instruction& source = source_of(w, i);
  const Reduction reduce = bulk_reduction_of(source);
  each_lane(w.exec, [&](uint32_t lane) {
    const uint32_t bytes = bulk_size(w, i, 2, lane);
    const mem::Address target = first_address(w, i, 0, lane);
    BulkCopy copy{resolve_multicast(w, i, lane, target, bytes, 16), nullptr, reduce};
    const SharedRef from = resolve_shared(w, i, SharedAddress::window, lane, later_address(w, i, 1, lane), bytes, 16);
    copy.from = from.host;
    if (source.has(Mod::cp_mask)) copy.mask = w.src<uint16_t>(i.op[3])[lane];
    report_range(w, i, AccessKind::load, lane, mem::kSharedWindow + from.cluster_address(), bytes);
    report_range(w, i, reduce.apply ? AccessKind::atomic : AccessKind::store, lane, target, bytes, Proxy::multimem);
    start_copy(w, i, Mask{1} << lane, GroupKind::bulk, from.owner, bytes,
               [copy = std::move(copy), watch = &w.environment().watch()] { perform(copy, *watch); });
  });
  return &i + 1;
}

}  // namespace

Exec select_load_reduce(const ptx::Instruction& inst) {
  return exists(inst) && load_reduction_of(inst) ? &load_reduce : nullptr;
}

Exec select_store(const ptx::Instruction& inst) { return exists(inst) ? &store : nullptr; }

Exec select_reduce(const ptx::Instruction& inst) {
  return exists(inst) && reduction_at_members(inst) ? &reduce_at_members : nullptr;
}

Exec select_bulk(const ptx::Instruction& inst) {
  if (inst.form == ptx::Form::multimem_cp_async_bulk) return &copy_to_members;
  return bulk_reduction_of(inst).apply ? &copy_to_members : nullptr;
}

}  // namespace fb::simt::multimem

#endif  // HWY_ONCE
