#include "virtual_node/machine/libraries/collective/reduction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "virtual_node/num/half.h"
#include "virtual_node/num/small_float.h"

namespace fb::machine {
namespace {

using wire::ElementType;
using wire::ReduceOp;

// How a type is computed with: widened to Wide, and rounded back.
template <class T>
struct Plain {
  using Stored = T;
  using Wide = T;
  static Wide widen(T x) { return x; }
  static T narrow(Wide x) { return x; }
};
struct Half {
  using Stored = uint16_t;
  using Wide = float;
  static float widen(uint16_t x) { return num::f16_to_f32(x); }
  static uint16_t narrow(float x) { return num::f32_to_f16(x); }
};
struct Bfloat {
  using Stored = uint16_t;
  using Wide = float;
  static float widen(uint16_t x) { return num::bf16_to_f32(x); }
  static uint16_t narrow(float x) { return num::f32_to_bf16(x); }
};
struct E4m3 {
  using Stored = uint8_t;
  using Wide = float;
  static float widen(uint8_t x) { return num::e4m3_to_f32(x); }
  static uint8_t narrow(float x) { return num::f32_to_e4m3(x); }
};
struct E5m2 {
  using Stored = uint8_t;
  using Wide = float;
  static float widen(uint8_t x) { return num::e5m2_to_f32(x); }
  static uint8_t narrow(float x) { return num::f32_to_e5m2(x); }
};

struct Add {
  template <class W>
  static W apply(W a, W b) {
    if constexpr (std::is_integral_v<W>) {
      using U = std::make_unsigned_t<W>;
      return static_cast<W>(static_cast<U>(a) + static_cast<U>(b));
    } else {
      return a + b;
    }
  }
};
struct Multiply {
  template <class W>
  static W apply(W a, W b) {
    if constexpr (std::is_integral_v<W>) {
      using U = std::make_unsigned_t<W>;
      return static_cast<W>(uint64_t{static_cast<U>(a)} * static_cast<U>(b));
    } else {
      return a * b;
    }
  }
};
struct Largest {
  template <class W>
  static W apply(W a, W b) {
    if constexpr (std::is_integral_v<W>)
      return a < b ? b : a;
    else
      return a != a ? b : b != b ? a : a < b ? b : a;
  }
};
struct Smallest {
  template <class W>
  static W apply(W a, W b) {
    if constexpr (std::is_integral_v<W>)
      return b < a ? b : a;
    else
      return a != a ? b : b != b ? a : b < a ? b : a;
  }
};

// Blocks fit into the first cache, and the loops over one vectorise.
constexpr uint64_t kBlock = 2048;

template <class F>
F::Wide scalar_of(uint64_t bits) {
  typename F::Stored stored;
  std::memcpy(&stored, &bits, sizeof stored);
  return F::widen(stored);
}

template <class F, class Operation, bool kScaled, bool kRounded>
void reduce_blocks(std::span<const ReductionInput> inputs, std::byte* out, uint64_t count, uint32_t divide_by) {
  using Stored = F::Stored;
  using Wide = F::Wide;
  std::array<Wide, kBlock> sum;
  std::array<Stored, kBlock> stored;
  for (uint64_t first = 0; first < count; first += kBlock) {
    const uint64_t n = std::min(kBlock, count - first);
    for (size_t k = 0; k < inputs.size(); ++k) {
      std::memcpy(stored.data(), inputs[k].elements + first * sizeof(Stored), n * sizeof(Stored));
      [[maybe_unused]] const Wide scalar = kScaled ? scalar_of<F>(inputs[k].scalar) : Wide{};
      const auto element = [&](uint64_t i) {
        if constexpr (kScaled)
          return F::widen(F::narrow(Multiply::apply(F::widen(stored[i]), scalar)));
        else
          return F::widen(stored[i]);
      };
      if (k == 0) {
        for (uint64_t i = 0; i < n; ++i) sum[i] = element(i);
      } else if constexpr (kRounded) {
        for (uint64_t i = 0; i < n; ++i) sum[i] = F::widen(F::narrow(Operation::apply(sum[i], element(i))));
      } else {
        for (uint64_t i = 0; i < n; ++i) sum[i] = Operation::apply(sum[i], element(i));
      }
    }
    if constexpr (std::is_integral_v<Wide>) {
      if (divide_by > 1) {
        for (uint64_t i = 0; i < n; ++i) sum[i] = static_cast<Wide>(sum[i] / static_cast<Wide>(divide_by));
      }
    }
    for (uint64_t i = 0; i < n; ++i) stored[i] = F::narrow(sum[i]);
    std::memcpy(out + first * sizeof(Stored), stored.data(), n * sizeof(Stored));
  }
}

template <class F, class Operation, bool kScaled>
void reduce_rounded(const Reduction& how, std::span<const ReductionInput> inputs, std::byte* out, uint64_t count,
                    uint32_t divide_by) {
  if (how.accumulation == Accumulation::rounded_at_each_hop)
    return reduce_blocks<F, Operation, kScaled, true>(inputs, out, count, divide_by);
  reduce_blocks<F, Operation, kScaled, false>(inputs, out, count, divide_by);
}

template <class F>
void reduce_type(const Reduction& how, std::span<const ReductionInput> inputs, std::byte* out, uint64_t count) {
  switch (how.op) {
    case ReduceOp::sum:
      return reduce_rounded<F, Add, false>(how, inputs, out, count, 1);
    case ReduceOp::product:
      return reduce_rounded<F, Multiply, false>(how, inputs, out, count, 1);
    case ReduceOp::max:
      return reduce_rounded<F, Largest, false>(how, inputs, out, count, 1);
    case ReduceOp::min:
      return reduce_rounded<F, Smallest, false>(how, inputs, out, count, 1);
    case ReduceOp::scaled_sum:
      return reduce_rounded<F, Add, true>(how, inputs, out, count, 1);
    case ReduceOp::average: {
      if constexpr (std::is_integral_v<typename F::Wide>) {
        return reduce_rounded<F, Add, false>(how, inputs, out, count, how.ranks);
      } else {
        const auto share = F::narrow(static_cast<F::Wide>(1.0 / how.ranks));
        std::array<ReductionInput, 1024> scaled;
        const size_t n = std::min(inputs.size(), scaled.size());
        for (size_t k = 0; k < n; ++k) {
          scaled[k].elements = inputs[k].elements;
          std::memcpy(&scaled[k].scalar, &share, sizeof share);
        }
        return reduce_rounded<F, Add, true>(how, std::span(scaled.data(), n), out, count, 1);
      }
    }
  }
}

}  // namespace

std::string_view name_of(ReduceOp op) {
  constexpr std::array<std::string_view, 6> kNames = {"sum", "product", "max", "min", "average", "scaled sum"};
  return kNames[static_cast<size_t>(op)];
}

// As NCCL decides: sums of these types; minima and maxima of all but f32 and f64.
bool switch_reduces(ElementType type, ReduceOp op) {
  switch (type) {
    case ElementType::i32:
    case ElementType::u32:
    case ElementType::i64:
    case ElementType::u64:
    case ElementType::f16:
    case ElementType::bf16:
      return op == ReduceOp::sum || op == ReduceOp::min || op == ReduceOp::max;
    case ElementType::f32:
    case ElementType::f64:
      return op == ReduceOp::sum;
    default:
      return false;
  }
}

void reduce(const Reduction& how, std::span<const ReductionInput> inputs, std::byte* out, uint64_t count) {
  if (inputs.empty()) return;
  switch (how.type) {
    case ElementType::i8:
      return reduce_type<Plain<int8_t>>(how, inputs, out, count);
    case ElementType::u8:
      return reduce_type<Plain<uint8_t>>(how, inputs, out, count);
    case ElementType::i32:
      return reduce_type<Plain<int32_t>>(how, inputs, out, count);
    case ElementType::u32:
      return reduce_type<Plain<uint32_t>>(how, inputs, out, count);
    case ElementType::i64:
      return reduce_type<Plain<int64_t>>(how, inputs, out, count);
    case ElementType::u64:
      return reduce_type<Plain<uint64_t>>(how, inputs, out, count);
    case ElementType::f16:
      return reduce_type<Half>(how, inputs, out, count);
    case ElementType::f32:
      return reduce_type<Plain<float>>(how, inputs, out, count);
    case ElementType::f64:
      return reduce_type<Plain<double>>(how, inputs, out, count);
    case ElementType::bf16:
      return reduce_type<Bfloat>(how, inputs, out, count);
    case ElementType::e4m3:
      return reduce_type<E4m3>(how, inputs, out, count);
    case ElementType::e5m2:
      return reduce_type<E5m2>(how, inputs, out, count);
  }
}

}  // namespace fb::machine
