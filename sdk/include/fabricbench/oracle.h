#pragma once

// For oracle.cpp of a problem: expected outputs of all ranks, computed on the host from the inputs of all ranks, in
// double precision or exact integers. It knows everything at once and communicates nothing. It must be deterministic:
// all randomness comes from Case::random.
//
//   #include <fabricbench/oracle.h>
//   using namespace fabricbench::oracle;
//
//   void expect(Case& c) {
//     Output out = c.output("out");                       // replicated: one for all ranks
//     for (int64_t i = 0; i < c["n"]; ++i) {
//       Sum sum;
//       for (int r = 0; r < c.world(); ++r) sum.add(c.input<float>("in", r)[i]);
//       out.set(i, sum);
//     }
//   }
//   FABRICBENCH_ORACLE(expect)                            // or FABRICBENCH_ORACLE(expect, fill)
//
// Loaded by the judge and by folders that `fabricbench export` writes; never seen by a candidate.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fabricbench::oracle {

// Number formats without a type in C++

struct bf16 {
  uint16_t bits = 0;
  bf16() = default;
  explicit bf16(float value) {
    const auto word = std::bit_cast<uint32_t>(value);
    bits = static_cast<uint16_t>((word + 0x7FFF + ((word >> 16) & 1)) >> 16);  // to nearest, ties to even
  }
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

// What f16 is where the compiler has no type for it.
inline uint16_t half_bits(float value) {
  const auto word = std::bit_cast<uint32_t>(value);
  const uint32_t sign = word >> 16 & 0x8000, magnitude = word & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00 | (magnitude >> 13 & 0x3FF));
  // Beyond half of the last step above 65504.
  if (magnitude >= 0x477FF000) return static_cast<uint16_t>(sign | 0x7C00);
  // To nearest, ties to even, by an addition whose sum has its last bit where the half has it.
  if (magnitude < 0x38800000) {
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3F000000));
  }
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1)) >> 13));
}
inline float half_value(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, magnitude = bits & 0x7FFF;
  if (magnitude >= 0x7C00) {
    const uint32_t quiet = magnitude > 0x7C00 ? 0x400000 : 0;
    return std::bit_cast<float>(sign | 0x7F800000 | quiet | (magnitude & 0x3FF) << 13);
  }
  if (magnitude < 0x400) {
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  return std::bit_cast<float>(sign | (magnitude + 0x1C000) << 13);
}

struct f16 {
  uint16_t bits = 0;
  f16() = default;
#if defined(__FLT16_MAX__) && !defined(__CUDACC__)
  explicit f16(float value) : bits(std::bit_cast<uint16_t>(static_cast<_Float16>(value))) {}
  operator float() const { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
#else  // before g++ 12, and what nvcc reads
  explicit f16(float value) : bits(half_bits(value)) {}
  operator float() const { return half_value(bits); }
#endif
};

// In the order of the judge's own list.
enum class DType : uint32_t { f32, f16, bf16, f64, i32, u32, i64, u64, u8 };

template <class T>
struct DTypeOf;
#define FABRICBENCH_DTYPE(Type, name)           \
  template <>                                   \
  struct DTypeOf<Type> {                        \
    static constexpr DType value = DType::name; \
  };
FABRICBENCH_DTYPE(float, f32)
FABRICBENCH_DTYPE(f16, f16)
FABRICBENCH_DTYPE(bf16, bf16)
FABRICBENCH_DTYPE(double, f64)
FABRICBENCH_DTYPE(int32_t, i32)
FABRICBENCH_DTYPE(uint32_t, u32)
FABRICBENCH_DTYPE(int64_t, i64)
FABRICBENCH_DTYPE(uint64_t, u64)
FABRICBENCH_DTYPE(uint8_t, u8)
#undef FABRICBENCH_DTYPE

// Half the distance to the next number, relative to the value: the error of one rounding. 0 for integers.
constexpr double unit_roundoff(DType type) {
  switch (type) {
    case DType::f32:
      return 0x1p-24;
    case DType::f16:
      return 0x1p-11;
    case DType::bf16:
      return 0x1p-8;
    case DType::f64:
      return 0x1p-53;
    default:
      return 0;
  }
}
// Errors below this are below the format's smallest numbers.
constexpr double smallest_step(DType type) {
  switch (type) {
    case DType::f32:
    case DType::bf16:
      return 0x1p-126;
    case DType::f16:
      return 0x1p-24;
    default:
      return 0;
  }
}

// What judge and oracle hand each other

struct RawTensor {
  const char* name;
  int32_t rank;
  uint32_t dtype;
  uint32_t output;
  uint32_t replicated;
  uint64_t elements;
  void* data;        // inputs: in the tensor's format
  double* expected;  // outputs; of a replicated one only rank 0 has them
  double* bound;     // |got - expected| may be this much; infinity: any value will do
  uint64_t first;    // of the elements that `expected` and `bound` keep; others are computed and dropped
  uint64_t kept;
};
struct RawParameter {
  const char* name;
  int64_t value;
};
struct RawCase {
  int32_t world;
  uint32_t call;
  uint64_t seed;
  uint64_t tensors, parameters;
  RawTensor* tensor;
  const RawParameter* parameter;
};

// For the author

// A sum of terms that a candidate forms in some order, in `precision`. Knows how far any order may be off.
class Sum {
 public:
  explicit Sum(DType precision = DType::f32) : roundoff_(unit_roundoff(precision)) {}
  void add(double term) {
    value_ += term;
    magnitude_ += std::fabs(term);
    ++terms_;
  }
  double value() const { return value_; }
  // Of the result, before it is rounded to the output's format: n terms, n - 1 additions, one rounding in each term.
  double bound() const { return static_cast<double>(terms_) * roundoff_ * magnitude_; }

 private:
  double value_ = 0, magnitude_ = 0, roundoff_;
  int64_t terms_ = 0;
};

class Output {
 public:
  explicit Output(RawTensor& raw) : raw_(&raw) {}
  int64_t size() const { return static_cast<int64_t>(raw_->elements); }

  // Exactly this number.
  void set(int64_t i, double value) { put(i, value, 0); }
  // This number, computed with an error of at most `bound`, then rounded to the output's format.
  void set(int64_t i, double value, double bound) {
    const auto type = static_cast<DType>(raw_->dtype);
    put(i, value, bound + unit_roundoff(type) * (std::fabs(value) + bound) + smallest_step(type));
  }
  void set(int64_t i, const Sum& sum) { set(i, sum.value(), sum.bound()); }
  // Whatever is there.
  void ignore(int64_t i) { put(i, 0, std::numeric_limits<double>::infinity()); }

 private:
  void put(int64_t i, double value, double bound) {
    if (i < 0 || i >= size()) throw std::out_of_range(std::string(raw_->name) + ": no element " + std::to_string(i));
    const uint64_t at = static_cast<uint64_t>(i) - raw_->first;
    if (at >= raw_->kept) return;
    raw_->expected[at] = value;
    raw_->bound[at] = bound;
  }
  RawTensor* raw_;
};

// The same numbers on every computer.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // 0 … n - 1
  int64_t below(int64_t n) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(n)); }
  // [0, 1)
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double between(double low, double high) { return low + (high - low) * unit(); }

 private:
  uint64_t state_;
};

class Case {
 public:
  explicit Case(RawCase& raw) : random(raw.seed), raw_(&raw) {}

  Random random;  // for fill; the same seed at every evaluation of one call

  int world() const { return raw_->world; }
  // Number of the call: contents differ at every call anyway.
  int call() const { return static_cast<int>(raw_->call); }
  // A parameter of problem.toml.
  int64_t operator[](std::string_view parameter) const {
    for (uint64_t k = 0; k < raw_->parameters; ++k) {
      if (parameter == raw_->parameter[k].name) return raw_->parameter[k].value;
    }
    throw std::invalid_argument("there is no parameter " + std::string(parameter));
  }

  // An input of one rank; T must be what problem.toml says. fill() may write it.
  template <class T>
  std::span<T> input(std::string_view name, int rank) {
    RawTensor& raw = find(name, rank);
    if (raw.output != 0) throw std::invalid_argument(std::string(name) + " is an output");
    if (DTypeOf<T>::value != static_cast<DType>(raw.dtype))
      throw std::invalid_argument(std::string(name) + " has another dtype");
    return {static_cast<T*>(raw.data), raw.elements};
  }
  // An output of one rank, or of all of them where it is replicated. Every element must be set or ignored.
  Output output(std::string_view name, int rank = 0) {
    RawTensor& raw = find(name, rank);
    if (raw.output == 0) throw std::invalid_argument(std::string(name) + " is an input");
    if (raw.expected == nullptr) throw std::invalid_argument(std::string(name) + " is replicated: ask without a rank");
    return Output(raw);
  }

 private:
  RawTensor& find(std::string_view name, int rank) {
    for (uint64_t k = 0; k < raw_->tensors; ++k) {
      RawTensor& raw = raw_->tensor[k];
      if (raw.rank == rank && name == raw.name) return raw;
    }
    throw std::invalid_argument("there is no tensor " + std::string(name) + " of rank " + std::to_string(rank));
  }
  RawCase* raw_;
};

enum class Task : uint32_t { fill, expect };

inline int run_oracle(Task task, RawCase* raw, char* message, uint64_t room, void (*expect)(Case&),
                      void (*fill)(Case&) = nullptr) {
  try {
    Case c(*raw);
    if (task == Task::expect) {
      expect(c);
    } else if (fill != nullptr) {
      fill(c);
    }
    return 0;
  } catch (const std::exception& e) {
    std::snprintf(message, room, "%s", e.what());
  } catch (...) {
    std::snprintf(message, room, "it threw something that is no std::exception");
  }
  return 1;
}

}  // namespace fabricbench::oracle

// FABRICBENCH_ORACLE(expect) or FABRICBENCH_ORACLE(expect, fill)
#define FABRICBENCH_ORACLE(...)                                                                              \
  extern "C" __attribute__((visibility("default"))) int fabricbench_oracle(                                  \
      uint32_t task, fabricbench::oracle::RawCase* raw, char* message, uint64_t room) {                      \
    return fabricbench::oracle::run_oracle(static_cast<fabricbench::oracle::Task>(task), raw, message, room, \
                                           __VA_ARGS__);                                                     \
  }
