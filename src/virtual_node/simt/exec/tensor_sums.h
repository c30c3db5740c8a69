// How the sums of products of a tensor core reach registers. Included once per SIMD target (see lanes.h).

#if defined(FB_SIMT_TENSOR_SUMS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FB_SIMT_TENSOR_SUMS_H_
#undef FB_SIMT_TENSOR_SUMS_H_
#else
#define FB_SIMT_TENSOR_SUMS_H_
#endif

#include <cstring>
#include <limits>

#include "virtual_node/num/arith.h"
#include "virtual_node/num/half.h"
#include "virtual_node/num/tensor/tensor_engine.h"
#include "virtual_node/simt/exec/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {

enum class Sum : uint8_t { f32, f16, s32, saturated_s32 };

// Registers of the executing lanes.
HWY_INLINE void write_words(Warp& w, int32_t row, const uint32_t* words) {
  map_lanes<uint32_t>(w.exec, w.row<uint32_t>(row), [](uint32_t v) { return v; }, words);
}

// By hand: compilers do not see that the comparison with NaN can be a vector's.
HWY_INLINE void add_f32(Warp& w, int32_t to, const std::byte* from, const float* sums) {
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  if (w.exec == kAllLanes) [[likely]] {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::CappedTag<float, kLanes> tag;
    constexpr uint32_t kStep = static_cast<uint32_t>(hn::MaxLanes(tag));
    const auto nan = hn::Set(tag, num::canonical(std::numeric_limits<float>::quiet_NaN()));
    const auto* c = reinterpret_cast<const float*>(from);
    float* d = w.row<float>(to);
    for (uint32_t l = 0; l < kLanes; l += kStep) {
      const auto sum = hn::Add(hn::LoadU(tag, c + l), hn::LoadU(tag, sums + l));
      hn::StoreU(hn::IfThenElse(hn::IsNaN(sum), nan, sum), tag, d + l);
    }
    return;
  }
#endif
  map_lanes<float>(
      w.exec, w.row<float>(to), [](float c, float sum) { return num::canonical(c + sum); },
      reinterpret_cast<const float*>(from), sums);
}

template <bool kSaturate>
HWY_INLINE void add_s32(Warp& w, int32_t to, const std::byte* from, const float* sums) {
  map_lanes<int32_t>(
      w.exec, w.row<int32_t>(to),
      [](int32_t c, float sum) {
        const auto s = static_cast<int32_t>(sum);
        if constexpr (!kSaturate) return c + s;
        const int64_t wide = int64_t{c} + s;
        return static_cast<int32_t>(wide < INT32_MIN ? INT32_MIN : wide > INT32_MAX ? INT32_MAX : wide);
      },
      reinterpret_cast<const int32_t*>(from), sums);
}

// Two columns of a row are in one register.
HWY_INLINE void add_f16(Warp& w, int32_t to, const std::byte* from, const float* lower, const float* upper) {
  const auto add = [](uint16_t c, float sum) { return num::f32_to_f16<>(num::f16_to_f32(c) + sum); };
  map_lanes<uint32_t>(
      w.exec, w.row<uint32_t>(to),
      [add](uint32_t c, float low, float high) {
        return num::pack_halves(add(num::upper_half(c), high), add(num::lower_half(c), low));
      },
      reinterpret_cast<const uint32_t*>(from), lower, upper);
}

// The registers of C. One that is also a register of D for other elements is copied before it is overwritten.
class Addends {
 public:
  HWY_INLINE Addends(const Warp& w, const int32_t* to, const int32_t* from, uint32_t count) {
    for (uint32_t r = 0; r < count; ++r) {
      at[r] = w.src<std::byte>(from[r]);
      for (uint32_t earlier = 0; earlier < r; ++earlier) {
        if (to[earlier] != from[r]) continue;
        std::memcpy(saved_[r], at[r], sizeof saved_[r]);
        at[r] = saved_[r];
      }
    }
  }

  const std::byte* at[4];

 private:
  alignas(64) std::byte saved_[4][kLanes * 4];
};

HWY_INLINE void add_sums(Warp& w, const int32_t* to, const int32_t* c, Sum kind, uint32_t rows,
                         const num::tensor::Sums& sums) {
  const uint32_t registers = rows / 4;
  const Addends addends(w, to, c, kind == Sum::f16 ? registers / 2 : registers);
  const std::byte* const* from = addends.at;
  for (uint32_t r = 0; r < registers; ++r) {
    const float* values = sums.values[r];
    switch (kind) {
      case Sum::f32:
        add_f32(w, to[r], from[r], values);
        break;
      case Sum::f16:
        if (r % 2 == 0) add_f16(w, to[r / 2], from[r / 2], values, sums.values[r + 1]);
        break;
      case Sum::s32:
        add_s32<false>(w, to[r], from[r], values);
        break;
      case Sum::saturated_s32:
        add_s32<true>(w, to[r], from[r], values);
        break;
    }
  }
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
