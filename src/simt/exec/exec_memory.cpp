// Loads and stores. Ordering first: the engine is one thread and every access is performed when it is executed, so that
// orders, scopes and cache hints change nothing here; they are told to listeners, which judge them.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simt/exec/exec_memory.cpp"
#include <hwy/foreach_target.h>

#include "simt/exec/access.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {
namespace {

using Wide = unsigned __int128;  // b128

// --- Registers wider than the type ----------------------------------------------------------------------------------

template <class R, class T>
void extend_row(Warp& w, int32_t row, const T* values) {
  map_lanes<R>(w.exec, w.row<R>(row), [](T v) { return static_cast<R>(v); }, values);
}

// The loaded values become the register's: sign-extended for signed types, zero-extended for others.
template <class T>
void write_register(Warp& w, int32_t row, uint32_t width, const T* values) {
  if (width == sizeof(T)) return map_lanes<T>(w.exec, w.row<T>(row), [](T v) { return v; }, values);
  if constexpr (std::is_integral_v<T>) {
    using Signed = std::make_signed_t<uint64_t>;
    constexpr bool kSigned = std::is_signed_v<T>;
    switch (width) {
      case 2:
        return extend_row<std::conditional_t<kSigned, int16_t, uint16_t>>(w, row, values);
      case 4:
        return extend_row<std::conditional_t<kSigned, int32_t, uint32_t>>(w, row, values);
      case 8:
        return extend_row<std::conditional_t<kSigned, Signed, uint64_t>>(w, row, values);
      case 16:
        return extend_row<std::conditional_t<kSigned, __int128, Wide>>(w, row, values);
      default:
        break;
    }
  }
}

// The register's low bits.
template <class T>
const T* read_register(Warp& w, int32_t row, uint32_t width, T* buffer) {
  if (width == sizeof(T)) return w.src<T>(row);
  if constexpr (std::is_integral_v<T>) {
    const auto narrow = [&]<class R>(const R* wide) {
      for (uint32_t l = 0; l < kLanes; ++l) buffer[l] = static_cast<T>(wide[l]);
    };
    switch (width) {
      case 2:
        narrow(w.src<uint16_t>(row));
        break;
      case 4:
        narrow(w.src<uint32_t>(row));
        break;
      case 8:
        narrow(w.src<uint64_t>(row));
        break;
      default:
        break;
    }
  }
  return buffer;
}

template <uint32_t kCount>
HWY_INLINE int32_t element_row(const Inst& i, int k, uint32_t n) {
  return kCount == 1 ? i.op[k] : i.list[i.op[k] + static_cast<int32_t>(n)];
}

// --- Vectors: in memory lane after lane, in registers row after row
// ---------------------------------------------------

// rows[n][l] = from[l * kCount + n]. By hand: compilers make gathers and scatters of these loops.
template <class T, uint32_t kCount>
HWY_INLINE void split_vectors(const T* from, T* const* rows) {
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  if constexpr (std::is_integral_v<T> && (kCount == 2 || kCount == 4)) {
    namespace hn = hwy::HWY_NAMESPACE;
    using Bits = std::make_unsigned_t<T>;
    const hn::CappedTag<Bits, kLanes> tag;
    constexpr uint32_t kStep = static_cast<uint32_t>(hn::MaxLanes(tag));
    const auto* source = reinterpret_cast<const Bits*>(from);
    const auto row = [&](uint32_t n, uint32_t l) { return reinterpret_cast<Bits*>(rows[n]) + l; };
    for (uint32_t l = 0; l < kLanes; l += kStep) {
      hn::Vec<decltype(tag)> a, b, c, d;
      if constexpr (kCount == 2) {
        hn::LoadInterleaved2(tag, source + l * 2, a, b);
      } else {
        hn::LoadInterleaved4(tag, source + l * 4, a, b, c, d);
        hn::StoreU(c, tag, row(2, l));
        hn::StoreU(d, tag, row(3, l));
      }
      hn::StoreU(a, tag, row(0, l));
      hn::StoreU(b, tag, row(1, l));
    }
    return;
  }
#endif
  for (uint32_t n = 0; n < kCount; ++n) {
    for (uint32_t l = 0; l < kLanes; ++l) rows[n][l] = from[l * kCount + n];
  }
}

template <class T, uint32_t kCount>
HWY_INLINE void join_vectors(const T* const* rows, T* to) {
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  if constexpr (std::is_integral_v<T> && (kCount == 2 || kCount == 4)) {
    namespace hn = hwy::HWY_NAMESPACE;
    using Bits = std::make_unsigned_t<T>;
    const hn::CappedTag<Bits, kLanes> tag;
    constexpr uint32_t kStep = static_cast<uint32_t>(hn::MaxLanes(tag));
    const auto load = [&](uint32_t n, uint32_t l)
                          HWY_ATTR { return hn::LoadU(tag, reinterpret_cast<const Bits*>(rows[n]) + l); };
    for (uint32_t l = 0; l < kLanes; l += kStep) {
      auto* target = reinterpret_cast<Bits*>(to) + l * kCount;
      if constexpr (kCount == 2) {
        hn::StoreInterleaved2(load(0, l), load(1, l), tag, target);
      } else {
        hn::StoreInterleaved4(load(0, l), load(1, l), load(2, l), load(3, l), tag, target);
      }
    }
    return;
  }
#endif
  for (uint32_t n = 0; n < kCount; ++n) {
    for (uint32_t l = 0; l < kLanes; ++l) to[l * kCount + n] = rows[n][l];
  }
}

// --- Loads ----------------------------------------------------------------------------------------------------------

// Values of lane l, element n: values[n][l].
template <class T, uint32_t kCount>
struct alignas(64) Loaded {
  T v[kCount][kLanes];
};

template <class T, uint32_t kCount>
void note_reads(Warp& w, const Inst& i, const mem::Address* a, const Region& r) {
  each_lane(w.exec, [&](uint32_t l) { w.note_read(r.host + (a[l] - r.begin), a[l], sizeof(T) * kCount, i); });
}

template <class T, uint32_t kCount>
HWY_INLINE void split_elements(const std::byte* from, uint32_t l, Loaded<T, kCount>& to) {
  for (uint32_t n = 0; n < kCount; ++n) std::memcpy(&to.v[n][l], from + n * sizeof(T), sizeof(T));
}

// Spaces whose bytes lie in one piece for a whole warp; the others are resolved lane by lane.
constexpr bool in_pieces(ptx::Space space) {
  return space == ptx::Space::generic || space == ptx::Space::global || space == ptx::Space::shared;
}

template <class T, uint32_t kCount, ptx::Space kSpace>
const Inst* load_by_lane(Warp& w, const Inst& i, const mem::Address* a) {
  constexpr uint32_t kBytes = sizeof(T) * kCount;
  Loaded<T, kCount> values;
  each_lane(w.exec, [&](uint32_t l) {
    const std::byte* from = w.resolve(i, kSpace, l, a[l], kBytes);
    if (w.block().grid().check_uninitialised_shared) w.check_initialised(i, l, from, a[l], kBytes);
    if (w.recording) w.note_read(from, a[l], kBytes, i);
    split_elements(from, l, values);
  });
  for (uint32_t n = 0; n < kCount; ++n) write_register(w, element_row<kCount>(i, 0, n), i.width[0], values.v[n]);
  return &i + 1;
}

// A listener has it that stores to some lanes' bytes have not arrived yet. The loop around a load that got such bytes
// is no mere wait: it must look again.
template <class T, uint32_t kCount, ptx::Space kSpace>
const Inst* load_old(Warp& w, const Inst& i, const mem::Address* a) {
  constexpr uint32_t kBytes = sizeof(T) * kCount;
  const std::byte* const* old = std::exchange(w.old_bytes, nullptr);
  w.note_effect();
  Loaded<T, kCount> values;
  each_lane(w.exec, [&](uint32_t l) {
    const std::byte* now = w.resolve(i, kSpace, l, a[l], kBytes);
    split_elements(old[l] ? old[l] : now, l, values);
  });
  for (uint32_t n = 0; n < kCount; ++n) write_register(w, element_row<kCount>(i, 0, n), i.width[0], values.v[n]);
  return &i + 1;
}

template <class T, uint32_t kCount, ptx::Space kSpace, bool kObserved>
const Inst* load(Warp& w, const Inst& i) {
  constexpr uint32_t kBytes = sizeof(T) * kCount;
  AddressRow buffer;
  const mem::Address* a = addresses(w, i, 1, buffer);
  if constexpr (kObserved) {
    report_access(w, i, AccessKind::load, kSpace, a, kBytes, Proxy::generic, kCount == 1 ? 0 : sizeof(T));
    if (w.old_bytes) [[unlikely]]
      return load_old<T, kCount, kSpace>(w, i, a);
  }
  if constexpr (!in_pieces(kSpace)) return load_by_lane<T, kCount, kSpace>(w, i, a);
  const Region r = region_around<kSpace>(w, a[std::countr_zero(w.exec)]);
  if (all_inside<kBytes>(a, w.exec, r)) [[likely]] {
    if (w.recording) note_reads<T, kCount>(w, i, a, r);
    if (in_one_piece<kBytes>(a, w.exec)) {
      const auto* from = reinterpret_cast<const T*>(r.host + (a[0] - r.begin));
      if constexpr (kCount == 1) {
        if (i.width[0] == sizeof(T)) {
          std::memcpy(w.row<T>(i.op[0]), from, kBytes * kLanes);
          return &i + 1;
        }
      } else if (i.width[0] == sizeof(T)) {
        T* rows[kCount];
        for (uint32_t n = 0; n < kCount; ++n) rows[n] = w.row<T>(element_row<kCount>(i, 0, n));
        split_vectors<T, kCount>(from, rows);
        return &i + 1;
      }
    }
    Loaded<T, kCount> values;
    each_lane(w.exec, [&](uint32_t l) { split_elements(r.host + (a[l] - r.begin), l, values); });
    for (uint32_t n = 0; n < kCount; ++n) write_register(w, element_row<kCount>(i, 0, n), i.width[0], values.v[n]);
    return &i + 1;
  }
  return load_by_lane<T, kCount, kSpace>(w, i, a);
}

// ld.param of a kernel parameter: the same for all lanes. imm is the offset in the launch's parameter block.
template <class T, uint32_t kCount>
const Inst* load_kernel_param(Warp& w, const Inst& i) {
  const std::byte* from = w.block().grid().params.data() + i.imm;
  alignas(64) T values[kLanes];
  for (uint32_t n = 0; n < kCount; ++n) {
    T value;
    std::memcpy(&value, from + n * sizeof(T), sizeof(T));
    std::fill_n(values, kLanes, value);
    write_register(w, element_row<kCount>(i, 0, n), i.width[0], values);
  }
  return &i + 1;
}

// ld.param/st.param of a call's parameter: bytes in the frame, lane-major. op[1]/op[0] is the variable's offset,
// imm the offset in it, aux the bytes per lane.
template <class T, uint32_t kCount>
const Inst* load_lane_param(Warp& w, const Inst& i) {
  const std::byte* from = w.base[0] + i.op[1] + i.imm;
  Loaded<T, kCount> values;
  each_lane(w.exec, [&](uint32_t l) { split_elements(from + static_cast<size_t>(l) * i.aux, l, values); });
  for (uint32_t n = 0; n < kCount; ++n) write_register(w, element_row<kCount>(i, 0, n), i.width[0], values.v[n]);
  return &i + 1;
}

template <class T, uint32_t kCount>
const Inst* store_lane_param(Warp& w, const Inst& i) {
  std::byte* to = w.base[0] + i.op[0] + i.imm;
  for (uint32_t n = 0; n < kCount; ++n) {
    T buffer[kLanes];
    const T* values = read_register(w, element_row<kCount>(i, 1, n), i.width[1], buffer);
    each_lane(w.exec, [&](uint32_t l) {
      std::memcpy(to + static_cast<size_t>(l) * i.aux + n * sizeof(T), &values[l], sizeof(T));
    });
  }
  return &i + 1;
}

// --- Stores ---------------------------------------------------------------------------------------------------------

template <class T, uint32_t kCount, ptx::Space kSpace>
const Inst* store_by_lane(Warp& w, const Inst& i, const mem::Address* a, const T* const* values) {
  constexpr uint32_t kBytes = sizeof(T) * kCount;
  each_lane(w.exec, [&](uint32_t l) {
    std::byte* to = w.resolve(i, kSpace, l, a[l], kBytes);
    if (kSpace == ptx::Space::generic && mem::is_param(a[l])) {
      w.trap(TrapKind::out_of_bounds, i, l, "a kernel's parameters can't be written", a[l], kBytes);
    }
    for (uint32_t n = 0; n < kCount; ++n) std::memcpy(to + n * sizeof(T), &values[n][l], sizeof(T));
    if (w.block().grid().check_uninitialised_shared) w.mark_initialised(to, kBytes);
    w.environment().watch().written(to, kBytes);
  });
  return &i + 1;
}

template <class T, uint32_t kCount, ptx::Space kSpace, bool kObserved>
const Inst* store(Warp& w, const Inst& i) {
  constexpr uint32_t kBytes = sizeof(T) * kCount;
  AddressRow buffer;
  const mem::Address* a = addresses(w, i, 0, buffer);
  if constexpr (kObserved)
    report_access(w, i, AccessKind::store, kSpace, a, kBytes, Proxy::generic, kCount == 1 ? 0 : sizeof(T));
  T narrowed[kCount][kLanes];
  const T* values[kCount];
  for (uint32_t n = 0; n < kCount; ++n) {
    values[n] = read_register(w, element_row<kCount>(i, 1, n), i.width[1], narrowed[n]);
  }
  w.note_effect();
  if constexpr (!in_pieces(kSpace)) return store_by_lane<T, kCount, kSpace>(w, i, a, values);
  Watch& watch = w.environment().watch();
  const Region r = region_around<kSpace>(w, a[std::countr_zero(w.exec)]);
  if (all_inside<kBytes>(a, w.exec, r)) [[likely]] {
    if (in_one_piece<kBytes>(a, w.exec)) {
      auto* to = reinterpret_cast<T*>(r.host + (a[0] - r.begin));
      if constexpr (kCount == 1) {
        std::memcpy(to, values[0], kBytes * kLanes);
      } else {
        join_vectors<T, kCount>(values, to);
      }
      watch.written(reinterpret_cast<std::byte*>(to), kBytes * kLanes);
      return &i + 1;
    }
    each_lane(w.exec, [&](uint32_t l) {
      std::byte* to = r.host + (a[l] - r.begin);
      for (uint32_t n = 0; n < kCount; ++n) std::memcpy(to + n * sizeof(T), &values[n][l], sizeof(T));
    });
    if (!watch.empty()) each_lane(w.exec, [&](uint32_t l) { watch.written(r.host + (a[l] - r.begin), kBytes); });
    return &i + 1;
  }
  return store_by_lane<T, kCount, kSpace>(w, i, a, values);
}

// --- Selection ------------------------------------------------------------------------------------------------------

// By memory type: the sign matters only where a register may be wider.
template <class F>
Exec by_memory_type(ptx::Type type, F f) {
  switch (type) {
    case ptx::Type::b128:
      return f.template operator()<Wide>();
    case ptx::Type::s8:
      return f.template operator()<int8_t>();
    case ptx::Type::s16:
      return f.template operator()<int16_t>();
    case ptx::Type::s32:
      return f.template operator()<int32_t>();
    default:
      return by_bits(type, f);
  }
}

// f<T, count>(); vectors of more than 32 bytes do not exist.
template <class F>
Exec by_vector(const ptx::Instruction& inst, F f) {
  return by_memory_type(inst.type(), [&]<class T>() -> Exec {
    if (inst.has(ptx::Mod::v2)) return f.template operator()<T, 2>();
    if (inst.has(ptx::Mod::v4)) {
      if constexpr (sizeof(T) <= 8) return f.template operator()<T, 4>();
    } else if (inst.has(ptx::Mod::v8)) {
      if constexpr (sizeof(T) <= 4) return f.template operator()<T, 8>();
    } else {
      return f.template operator()<T, 1>();
    }
    return nullptr;
  });
}

ptx::Space space_of(const ptx::Instruction& inst) {
  return inst.spaces.empty() ? ptx::Space::generic : inst.spaces.front();
}

// f<space>() for the spaces that memory instructions are specialised for.
template <class F>
Exec by_space(ptx::Space space, F f) {
  switch (space) {
    case ptx::Space::generic:
      return f.template operator()<ptx::Space::generic>();
    case ptx::Space::global:
    case ptx::Space::constant:
      return f.template operator()<ptx::Space::global>();
    case ptx::Space::shared:
      return f.template operator()<ptx::Space::shared>();
    case ptx::Space::shared_cluster:
      return f.template operator()<ptx::Space::shared_cluster>();
    case ptx::Space::local:
      return f.template operator()<ptx::Space::local>();
    case ptx::Space::param:
      return f.template operator()<ptx::Space::param>();
  }
  return nullptr;
}

Exec select_load(const Selection& s) {
  return by_vector(s.inst, [&]<class T, uint32_t kCount>() -> Exec {
    if (s.param == ParamKind::kernel) return &load_kernel_param<T, kCount>;
    if (s.param == ParamKind::lanes) return &load_lane_param<T, kCount>;
    return by_space(space_of(s.inst), [&]<ptx::Space kSpace>() -> Exec {
      if (s.observed || !in_pieces(kSpace)) return &load<T, kCount, kSpace, true>;
      if constexpr (in_pieces(kSpace)) return &load<T, kCount, kSpace, false>;
      return nullptr;
    });
  });
}

// Stores do not look at the sign.
ptx::Type unsigned_of(ptx::Type type) {
  switch (ptx::bits_of(type)) {
    case 8:
      return ptx::Type::b8;
    case 16:
      return ptx::Type::b16;
    case 32:
      return ptx::Type::b32;
    case 64:
      return ptx::Type::b64;
    default:
      return type;
  }
}

}  // namespace

FB_EXEC(ld) { return select_load(s); }
FB_EXEC(ld_nc) { return select_load(s); }
FB_EXEC(ldu) { return select_load(s); }

FB_EXEC(st) {
  ptx::Instruction plain;
  plain.mods = s.inst.mods;
  plain.types = {unsigned_of(s.inst.type())};
  return by_vector(plain, [&]<class T, uint32_t kCount>() -> Exec {
    if constexpr (std::is_signed_v<T>) {
      return nullptr;
    } else {
      if (s.param == ParamKind::lanes) return &store_lane_param<T, kCount>;
      if (s.param == ParamKind::kernel) return nullptr;
      return by_space(space_of(s.inst), [&]<ptx::Space kSpace>() -> Exec {
        if constexpr (kSpace == ptx::Space::param) return nullptr;
        if (s.observed || !in_pieces(kSpace)) return &store<T, kCount, kSpace, true>;
        if constexpr (in_pieces(kSpace)) return &store<T, kCount, kSpace, false>;
        return nullptr;
      });
    }
  });
}

// Hints about caches: there are none to prefetch into. Addresses are not checked, as on hardware.
FB_EXEC(prefetch) {
  return [](Warp&, const Inst& i) { return &i + 1; };
}
FB_EXEC(prefetch_evict) { return select_prefetch(s); }
FB_EXEC(prefetch_tensormap) { return select_prefetch(s); }
FB_EXEC(prefetchu) { return select_prefetch(s); }

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
