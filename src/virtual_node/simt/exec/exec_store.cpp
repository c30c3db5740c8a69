// Stores. As for loads (exec_load.cpp), orders and scopes are for listeners; each store reports to the watch which
// bytes have changed, which wakes the warps that sleep on them.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_store.cpp"
#include <hwy/foreach_target.h>

#include "virtual_node/simt/exec/memory_rows.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {
namespace {

// The low bits of a register that is wider than the type.
template <class T>
HWY_NOINLINE void narrow_register(const Warp& w, int32_t row, uint32_t width, T* to) {
  const auto narrow = [&]<class R>(const R* wide) {
    for (uint32_t l = 0; l < kLanes; ++l) to[l] = static_cast<T>(wide[l]);
  };
  switch (width) {
    case 2:
      return narrow(w.src<uint16_t>(row));
    case 4:
      return narrow(w.src<uint32_t>(row));
    case 8:
      return narrow(w.src<uint64_t>(row));
    default:
      break;
  }
}

template <class T>
HWY_INLINE const T* read_register(const Warp& w, int32_t row, uint32_t width, T* buffer) {
  if (width == sizeof(T)) return w.src<T>(row);
  if constexpr (sizeof(T) < 8) narrow_register(w, row, width, buffer);
  return buffer;
}

template <class T, uint32_t kCount>
HWY_INLINE void store_elements(const T* const* values, uint32_t lane, std::byte* to) {
  for (uint32_t n = 0; n < kCount; ++n) std::memcpy(to + n * sizeof(T), &values[n][lane], sizeof(T));
}

template <class T, uint32_t kCount>
HWY_NOINLINE const Inst* store_by_lane(Warp& w, const Inst& i, ptx::Space space, const mem::Address* a,
                                       const T* const* values) {
  constexpr uint32_t kBytes = sizeof(T) * kCount;
  const bool judged = w.judges_polling() && (space == ptx::Space::global || space == ptx::Space::generic);
  each_lane(w.exec, [&](uint32_t l) {
    std::byte* to = w.resolve(i, space, l, a[l], kBytes);
    if (space == ptx::Space::generic && mem::is_param(a[l])) {
      w.trap(TrapKind::out_of_bounds, i, l, "a kernel's parameters can't be written", a[l], kBytes);
    }
    if (judged && mem::is_global(a[l])) {
      std::byte fresh[kBytes];
      store_elements<T, kCount>(values, l, fresh);
      if (std::memcmp(to, fresh, kBytes) != 0) w.note_change();
    }
    store_elements<T, kCount>(values, l, to);
    if (w.block().grid().check_uninitialised_shared) w.mark_initialised(to, kBytes);
    w.environment().watch().written(to, kBytes);
  });
  return &i + 1;
}

// To bytes that are contiguous on the host; false if some lane's are not among them.
template <class T, uint32_t kCount>
HWY_NOINLINE bool store_to(Warp& w, const mem::Address* a, const Region& r, const T* const* values) {
  constexpr uint32_t kBytes = sizeof(T) * kCount;
  const bool one_piece = in_one_piece<kBytes>(a, w.exec) && piece_inside<kBytes>(a, r);
  if (!one_piece && !all_inside<kBytes>(a, w.exec, r)) [[unlikely]]
    return false;
  Watch& watch = w.environment().watch();
  if (one_piece) {
    auto* to = reinterpret_cast<T*>(r.host + (a[0] - r.begin));
    join_vectors<T, kCount>(values, to);
    watch.written(reinterpret_cast<std::byte*>(to), kBytes * kLanes);
    return true;
  }
  each_lane(w.exec, [&](uint32_t l) { store_elements<T, kCount>(values, l, r.host + (a[l] - r.begin)); });
  if (!watch.empty()) each_lane(w.exec, [&](uint32_t l) { watch.written(r.host + (a[l] - r.begin), kBytes); });
  return true;
}

// The same while PollWatch judges whether the warp polls: it is told of each lane whose store changes memory. False:
// the lanes' bytes are not in one piece.
template <class T, uint32_t kCount>
HWY_NOINLINE bool store_judged_to(Warp& w, const mem::Address* a, const Region& r, const T* const* values) {
  constexpr uint32_t kBytes = sizeof(T) * kCount;
  if (!in_one_piece<kBytes>(a, w.exec) || !piece_inside<kBytes>(a, r)) return false;
  if (!mem::is_global(a[0]) || !mem::is_global(a[kLanes - 1])) return false;
  alignas(64) T fresh[kCount * kLanes];
  join_vectors<T, kCount>(values, fresh);
  std::byte* const to = r.host + (a[0] - r.begin);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (std::memcmp(to + size_t{l} * kBytes, fresh + size_t{l} * kCount, kBytes) != 0) w.note_change();
  }
  std::memcpy(to, fresh, sizeof fresh);
  w.environment().watch().written(to, sizeof fresh);
  return true;
}

template <class T, uint32_t kCount, ptx::Space kSpace, bool kObserved>
const Inst* store(Warp& w, const Inst& i) {
  AddressRow buffer;
  const mem::Address* a = addresses(w, i, 0, buffer);
  T narrowed[kCount][kLanes];
  const T* values[kCount];
  for (uint32_t n = 0; n < kCount; ++n)
    values[n] = read_register(w, element_row<kCount>(i, 1, n), i.width[1], narrowed[n]);
  if constexpr (kObserved) {
    const void* rows[kCount];
    for (uint32_t n = 0; n < kCount; ++n) rows[n] = values[n];
    report_access(w, i, AccessKind::store, kSpace, a, sizeof(T) * kCount, Proxy::generic, kCount == 1 ? 0 : sizeof(T),
                  rows);
  }
  w.note_effect();
  if constexpr (is_contiguous(kSpace)) {
    const Region r = region_around<kSpace>(w, a[std::countr_zero(w.exec)]);
    if constexpr (kSpace == ptx::Space::global || kSpace == ptx::Space::generic) {
      if (w.judges_polling()) [[unlikely]] {
        if (store_judged_to<T, kCount>(w, a, r, values)) return &i + 1;
        return store_by_lane<T, kCount>(w, i, kSpace, a, values);
      }
    }
    if (store_to<T, kCount>(w, a, r, values)) [[likely]]
      return &i + 1;
  }
  return store_by_lane<T, kCount>(w, i, kSpace, a, values);
}

// st.param of a call's parameter: bytes in the frame, lane-major. op[0] is the variable's offset, imm the offset in it,
// aux the bytes per lane.
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

}  // namespace

FB_EXEC(st) {
  return by_vector(s.inst, [&]<class T, uint32_t kCount>() -> Exec {
    if (s.param == ParamKind::lanes) return &store_lane_param<T, kCount>;
    if (s.param == ParamKind::kernel) return nullptr;
    return by_space(space_of(s.inst), [&]<ptx::Space kSpace>() -> Exec {
      if constexpr (kSpace == ptx::Space::param) {
        return nullptr;
      } else {
        if constexpr (is_contiguous(kSpace)) {
          if (!s.observed) return &store<T, kCount, kSpace, false>;
        }
        return &store<T, kCount, kSpace, true>;
      }
    });
  });
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
