// What loads and stores share: elements of vectors, registers wider than the type, selection by width and space.
// Included once per SIMD target (see lanes.h).
//
// Memory instructions are selected by width, vector length, space and observation. Only the short functions that
// compute addresses are specialised for all four; the loops behind them are shared by all spaces, which keeps the
// number of functions to compile small.

#if defined(FB_SIMT_MEMORY_ROWS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FB_SIMT_MEMORY_ROWS_H_
#undef FB_SIMT_MEMORY_ROWS_H_
#else
#define FB_SIMT_MEMORY_ROWS_H_
#endif

#include "virtual_node/simt/exec/access.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {

using Wide = unsigned __int128;  // b128

template <uint32_t kCount>
HWY_INLINE int32_t element_row(const Inst& i, int k, uint32_t n) {
  return kCount == 1 ? i.op[k] : i.list[i.op[k] + static_cast<int32_t>(n)];
}

// Spaces whose bytes are contiguous for a whole warp; the others are resolved lane by lane.
constexpr bool is_contiguous(ptx::Space space) {
  return space == ptx::Space::generic || space == ptx::Space::global || space == ptx::Space::shared;
}

// Vectors: in memory lane after lane, in registers row after row

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
  if constexpr (kCount == 1) {
    std::memcpy(to, rows[0], sizeof(T) * kLanes);
    return;
  }
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

// Selection

// f<T, count>() for the width and length of a vector; vectors of more than 32 bytes do not exist.
template <class F>
Exec by_vector(const ptx::Instruction& inst, F f) {
  return by_width<uint8_t, uint16_t, uint32_t, uint64_t, Wide>(inst.type(), [&]<class T>() -> Exec {
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

inline ptx::Space space_of(const ptx::Instruction& inst) {
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

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
