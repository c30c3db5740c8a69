#pragma once

// Elements of tensors by their number format: how inputs are drawn, how an element is read and written, and whether a
// result is right. The judge and the folders that `fabricbench export` writes use the same functions. Not for
// candidates.

#include <fabricbench/oracle.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>

namespace fabricbench::oracle {

// `fill` of problem.toml.
enum class Fill : uint32_t { none, bits, spread, unit, integers };
constexpr std::optional<Fill> fill_named(std::string_view name) {
  constexpr std::string_view kNames[] = {"none", "bits", "spread", "unit", "integers"};
  for (uint32_t k = 0; k < std::size(kNames); ++k) {
    if (kNames[k] == name) return static_cast<Fill>(k);
  }
  return std::nullopt;
}

constexpr size_t size_of(DType type) {
  switch (type) {
    case DType::f64:
    case DType::i64:
    case DType::u64:
      return 8;
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::u8:
      return 1;
    default:
      return 4;
  }
}
constexpr bool is_float(DType type) { return unit_roundoff(type) > 0; }

// f(T()) for the type that holds elements.
template <class F>
auto with_type(DType type, F f) {
  switch (type) {
    case DType::f32:
      return f(float());
    case DType::f16:
      return f(f16());
    case DType::bf16:
      return f(bf16());
    case DType::f64:
      return f(double());
    case DType::i32:
      return f(int32_t());
    case DType::u32:
      return f(uint32_t());
    case DType::i64:
      return f(int64_t());
    case DType::u64:
      return f(uint64_t());
    case DType::u8:
      break;
  }
  return f(uint8_t());
}

// Rounding to float before rounding to less must not make ties: what is lost leaves a trace in the last bit.
inline float to_odd(double value) {
  const auto rounded = static_cast<float>(value);
  if (static_cast<double>(rounded) == value || !std::isfinite(rounded)) return rounded;
  auto bits = std::bit_cast<uint32_t>(rounded);
  if (std::fabs(static_cast<double>(rounded)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1);
}

// The nearest number of the format.
template <class T>
T element_of(double value) {
  if constexpr (sizeof(T) == 2) return T(to_odd(value));
  if constexpr (std::is_same_v<T, uint64_t>) {
    return value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value)) : static_cast<uint64_t>(value);
  } else if constexpr (std::is_unsigned_v<T>) {
    return static_cast<T>(static_cast<int64_t>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
double read_as(const std::byte* at) {
  T element;
  std::memcpy(&element, at, sizeof element);
  return static_cast<double>(element);
}

// An element as the nearest double.
inline double read_element(DType type, const std::byte* at) {
  return with_type(type, [at](auto zero) { return read_as<decltype(zero)>(at); });
}
inline void write_element(DType type, std::byte* at, double value) {
  with_type(type, [at, value](auto zero) {
    zero = element_of<decltype(zero)>(value);
    std::memcpy(at, &zero, sizeof zero);
  });
}

// Random sign, magnitude and fraction: ±1.fraction · 2^(-4 … 4), put together bit by bit because there are millions.
inline double spread(uint64_t bits) {
  constexpr uint64_t kBias = 1023, kFractionBits = 52;
  const uint64_t exponent = kBias - 4 + bits % 9;
  return std::bit_cast<double>((bits & uint64_t{1} << 63) | exponent << kFractionBits |
                               (bits >> 9 & ((uint64_t{1} << kFractionBits) - 1)));
}

// `bytes` bytes of elements, drawn from `seed`.
inline void fill_elements(DType type, Fill fill, std::byte* to, size_t bytes, uint64_t seed) {
  Random random(seed);
  std::byte* const end = to + bytes;
  if (fill == Fill::bits || fill == Fill::none) {
    // Also where the oracle writes: elements that it leaves out must be unpredictable.
    for (; end - to >= 8; to += 8) {
      const uint64_t word = random.bits();
      std::memcpy(to, &word, 8);
    }
    for (uint64_t rest = random.bits(); to < end; rest >>= 8) *to++ = static_cast<std::byte>(rest);
    return;
  }
  // There are millions of elements: what depends on the tensor alone is decided before the loop.
  with_type(type, [&](auto zero) {
    const auto draw = [&](auto value_of) {
      for (; to < end; to += sizeof zero) {
        zero = element_of<decltype(zero)>(value_of(random.bits()));
        std::memcpy(to, &zero, sizeof zero);
      }
    };
    if (fill == Fill::integers) return draw([](uint64_t bits) { return static_cast<double>(bits % 17) - 8; });
    if (fill == Fill::unit)
      return draw([](uint64_t bits) { return 2 * (static_cast<double>(bits >> 11) * 0x1p-53) - 1; });
    draw(spread);
  });
}

// Folds a word into a hash.
constexpr uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}
// Of fill_elements, from the seed of a call.
constexpr uint64_t seed_of_tensor(uint64_t seed, int rank, size_t tensor) {
  return mix(mix(seed, static_cast<uint64_t>(rank)), tensor);
}

// Whether a result is right: `bound` is what Output::set made, infinity where any value will do. Without branches.
inline bool is_right(double got, double expected, double bound) {
  return (got == expected) | (std::fabs(got - expected) <= bound) | std::isinf(bound);
}

}  // namespace fabricbench::oracle
