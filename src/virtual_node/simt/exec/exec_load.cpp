// Loads. Ordering first: the engine is one thread and every access is performed when it is executed, so that orders,
// scopes and cache hints change nothing here; they are reported to listeners, which judge them.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_load.cpp"
#include <hwy/foreach_target.h>

#include "virtual_node/simt/exec/memory_rows.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {
namespace {

// Registers wider than the type

template <class R, class From, class T>
void extend_row(Warp& w, int32_t row, const T* values) {
  map_lanes<R>(w.exec, w.row<R>(row), [](T v) { return static_cast<R>(static_cast<From>(v)); }, values);
}

template <class From, class T>
void extend_row(Warp& w, int32_t row, uint32_t width, const T* values) {
  switch (width) {
    case 2:
      return extend_row<uint16_t, From>(w, row, values);
    case 4:
      return extend_row<uint32_t, From>(w, row, values);
    case 8:
      return extend_row<uint64_t, From>(w, row, values);
    case 16:
      return extend_row<Wide, From>(w, row, values);
    default:
      break;
  }
}

// Sign-extended for signed types, zero-extended for others.
template <class T>
HWY_NOINLINE void write_extended(Warp& w, int32_t row, uint32_t width, bool is_signed, const T* values) {
  if (is_signed) return extend_row<std::make_signed_t<T>>(w, row, width, values);
  extend_row<T>(w, row, width, values);
}

// The loaded values become the register's.
template <class T>
HWY_INLINE void write_register(Warp& w, int32_t row, uint32_t width, bool is_signed, const T* values) {
  if (width == sizeof(T)) return map_lanes<T>(w.exec, w.row<T>(row), [](T v) { return v; }, values);
  if constexpr (sizeof(T) < 16) write_extended(w, row, width, is_signed, values);
}

// Values of lane l, element n: v[n][l].
template <class T, uint32_t kCount>
struct alignas(64) Loaded {
  T v[kCount][kLanes];

  HWY_INLINE void take(uint32_t lane, const std::byte* from) {
    for (uint32_t n = 0; n < kCount; ++n) std::memcpy(&v[n][lane], from + n * sizeof(T), sizeof(T));
  }
  HWY_INLINE void write(Warp& w, const Inst& i, bool is_signed) const {
    for (uint32_t n = 0; n < kCount; ++n) write_register(w, element_row<kCount>(i, 0, n), i.width[0], is_signed, v[n]);
  }
};

// Memory

template <class T, uint32_t kCount>
HWY_NOINLINE const Inst* load_by_lane(Warp& w, const Inst& i, ptx::Space space, const mem::Address* a) {
  constexpr uint32_t kBytes = sizeof(T) * kCount;
  Loaded<T, kCount> values;
  each_lane(w.exec, [&](uint32_t l) {
    const std::byte* from = w.resolve(i, space, l, a[l], kBytes);
    if (w.block().grid().check_uninitialised_shared) w.check_initialised(i, l, from, a[l], kBytes);
    if (w.recording) w.note_read(from, a[l], kBytes, i);
    values.take(l, from);
  });
  values.write(w, i, extends_sign(i));
  return &i + 1;
}

// A listener keeps old bytes for some lanes: stores to them have not arrived yet. A loop around a load that got such
// bytes is not a mere wait: it must look again.
template <class T, uint32_t kCount>
HWY_NOINLINE const Inst* load_old(Warp& w, const Inst& i, ptx::Space space, const mem::Address* a) {
  constexpr uint32_t kBytes = sizeof(T) * kCount;
  const std::byte* const* old = std::exchange(w.old_bytes, nullptr);
  w.note_effect();
  Loaded<T, kCount> values;
  each_lane(w.exec, [&](uint32_t l) {
    const std::byte* now = w.resolve(i, space, l, a[l], kBytes);
    values.take(l, old[l] ? old[l] : now);
  });
  values.write(w, i, extends_sign(i));
  return &i + 1;
}

// A warp that goes through more memory than caches hold, in the strides of its grid, would wait for each line: the
// strides are longer than those that the host's processor foresees. So the bytes that come next are asked for.
constexpr uint64_t kMoreThanCaches = 8 << 20;
constexpr size_t kFollowed = 256;  // loads of warps

struct Followed {
  const Inst* inst = nullptr;
  const Warp* warp = nullptr;
  uint64_t offset = 0;  // in its region
};

HWY_INLINE void ask_for_next(const Warp& w, const Inst& i, uint64_t offset, uint64_t bytes, const Region& r) {
  static thread_local Followed table[kFollowed];
  const auto mixed = reinterpret_cast<uintptr_t>(&i) / sizeof(Inst) * 31 + reinterpret_cast<uintptr_t>(&w) / 64;
  Followed& f = table[mixed % kFollowed];
  const uint64_t next = offset + (offset - f.offset);
  if (f.inst == &i && f.warp == &w && next < r.size && bytes <= r.size - next) {
    for (uint64_t line = 0; line < bytes; line += 64) __builtin_prefetch(r.host + next + line);
  }
  f = {&i, &w, offset};
}

// From bytes that are contiguous on the host; false if some lane's are not among them.
template <class T, uint32_t kCount>
HWY_NOINLINE bool load_from(Warp& w, const Inst& i, const mem::Address* a, const Region& r) {
  constexpr uint32_t kBytes = sizeof(T) * kCount;
  const bool one_piece = in_one_piece<kBytes>(a, w.exec) && piece_inside<kBytes>(a, r);
  if (!one_piece && !all_inside<kBytes>(a, w.exec, r)) [[unlikely]]
    return false;
  if (w.recording) each_lane(w.exec, [&](uint32_t l) { w.note_read(r.host + (a[l] - r.begin), a[l], kBytes, i); });
  if (one_piece && i.width[0] == sizeof(T)) {
    const auto* from = reinterpret_cast<const T*>(r.host + (a[0] - r.begin));
    if (r.size > kMoreThanCaches) ask_for_next(w, i, a[0] - r.begin, kBytes * kLanes, r);
    if constexpr (kCount == 1) {
      std::memcpy(w.row<T>(i.op[0]), from, kBytes * kLanes);
    } else {
      T* rows[kCount];
      for (uint32_t n = 0; n < kCount; ++n) rows[n] = w.row<T>(element_row<kCount>(i, 0, n));
      split_vectors<T, kCount>(from, rows);
    }
    return true;
  }
  Loaded<T, kCount> values;
  each_lane(w.exec, [&](uint32_t l) { values.take(l, r.host + (a[l] - r.begin)); });
  values.write(w, i, extends_sign(i));
  return true;
}

template <class T, uint32_t kCount, ptx::Space kSpace, bool kObserved>
const Inst* load(Warp& w, const Inst& i) {
  AddressRow buffer;
  const mem::Address* a = addresses(w, i, 1, buffer);
  if constexpr (kObserved) {
    report_access(w, i, AccessKind::load, kSpace, a, sizeof(T) * kCount, Proxy::generic, kCount == 1 ? 0 : sizeof(T));
    if (w.old_bytes) [[unlikely]]
      return load_old<T, kCount>(w, i, kSpace, a);
  }
  if constexpr (is_contiguous(kSpace)) {
    const Region r = region_around<kSpace>(w, a[std::countr_zero(w.exec)]);
    if (load_from<T, kCount>(w, i, a, r)) [[likely]]
      return &i + 1;
  }
  return load_by_lane<T, kCount>(w, i, kSpace, a);
}

// Parameters

// ld.param of a kernel parameter: the same for all lanes. imm is the offset in the launch's parameter block.
template <class T, uint32_t kCount>
const Inst* load_kernel_param(Warp& w, const Inst& i) {
  const std::byte* from = w.block().grid().params.data() + i.imm;
  alignas(64) T values[kLanes];
  for (uint32_t n = 0; n < kCount; ++n) {
    T value;
    std::memcpy(&value, from + n * sizeof(T), sizeof(T));
    std::fill_n(values, kLanes, value);
    write_register(w, element_row<kCount>(i, 0, n), i.width[0], extends_sign(i), values);
  }
  return &i + 1;
}

// ld.param of a call's parameter: bytes in the frame, lane-major. op[1] is the variable's offset, imm the offset in it,
// aux the bytes per lane.
template <class T, uint32_t kCount, bool kSigned>
const Inst* load_lane_param(Warp& w, const Inst& i) {
  const std::byte* from = w.base[0] + i.op[1] + i.imm;
  Loaded<T, kCount> values;
  each_lane(w.exec, [&](uint32_t l) { values.take(l, from + static_cast<size_t>(l) * i.aux); });
  values.write(w, i, kSigned);
  return &i + 1;
}

Exec select_load(const Selection& s) {
  return by_vector(s.inst, [&]<class T, uint32_t kCount>() -> Exec {
    if (s.param == ParamKind::kernel) return &load_kernel_param<T, kCount>;
    if (s.param == ParamKind::lanes) {
      const bool is_signed = ptx::kind_of(s.inst.type()) == ptx::TypeKind::signed_int;
      return is_signed ? &load_lane_param<T, kCount, true> : &load_lane_param<T, kCount, false>;
    }
    return by_space(space_of(s.inst), [&]<ptx::Space kSpace>() -> Exec {
      if constexpr (is_contiguous(kSpace)) {
        if (!s.observed) return &load<T, kCount, kSpace, false>;
      }
      return &load<T, kCount, kSpace, true>;
    });
  });
}

}  // namespace

FB_EXEC(ld) { return select_load(s); }
FB_EXEC(ld_nc) { return select_load(s); }
FB_EXEC(ldu) { return select_load(s); }

// Hints about caches: there are none to prefetch into. Addresses are not checked, as on hardware.
FB_EXEC(prefetch) {
  return [](Warp&, const Inst& i) { return &i + 1; };
}
FB_EXEC(prefetch_evict) { return select_prefetch(s); }
FB_EXEC(prefetch_tensormap) { return select_prefetch(s); }
FB_EXEC(prefetchu) { return select_prefetch(s); }

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
