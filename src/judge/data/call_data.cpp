#include "judge/data/call_data.h"

#include <fabricbench/oracle.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "common/base/hash.h"
#include "common/base/rng.h"

namespace fb::judge {
namespace {

using catalog::DType;
namespace oracle_sdk = fabricbench::oracle;

template <class T>
void put(std::byte*& to, T value) {
  std::memcpy(to, &value, sizeof value);
  to += sizeof value;
}

// Rounding to float before rounding to less must not make ties: what is lost leaves a trace in the last bit.
float to_odd(double value) {
  const auto rounded = static_cast<float>(value);
  if (static_cast<double>(rounded) == value || !std::isfinite(rounded)) return rounded;
  auto bits = std::bit_cast<uint32_t>(rounded);
  if (std::fabs(static_cast<double>(rounded)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1);
}

// f(store): store(to, value) writes one element of the type and moves on.
template <class F>
void by_type(DType type, F f) {
  switch (type) {
    case DType::f32:
      return f([](std::byte*& to, double value) { put(to, static_cast<float>(value)); });
    case DType::f16:
      return f([](std::byte*& to, double value) { put(to, oracle_sdk::f16(to_odd(value))); });
    case DType::bf16:
      return f([](std::byte*& to, double value) { put(to, oracle_sdk::bf16(to_odd(value))); });
    case DType::f64:
      return f([](std::byte*& to, double value) { put(to, value); });
    case DType::i32:
      return f([](std::byte*& to, double value) { put(to, static_cast<int32_t>(value)); });
    case DType::u32:
      return f([](std::byte*& to, double value) { put(to, static_cast<uint32_t>(static_cast<int64_t>(value))); });
    case DType::i64:
      return f([](std::byte*& to, double value) { put(to, static_cast<int64_t>(value)); });
    case DType::u64:
      return f([](std::byte*& to, double value) {
        put(to, value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value)) : static_cast<uint64_t>(value));
      });
    case DType::u8:
      return f([](std::byte*& to, double value) { put(to, static_cast<uint8_t>(static_cast<int64_t>(value))); });
  }
}

// Random sign, magnitude and fraction: ±1.fraction · 2^(-4 … 4), put together bit by bit because there are millions.
double spread(uint64_t bits) {
  constexpr uint64_t kBias = 1023, kFractionBits = 52;
  const uint64_t exponent = kBias - 4 + bits % 9;
  return std::bit_cast<double>((bits & uint64_t{1} << 63) | exponent << kFractionBits |
                               (bits >> 9 & ((uint64_t{1} << kFractionBits) - 1)));
}

double unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

template <class T>
double read_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return static_cast<double>(value);
}

}  // namespace

double read_element(DType type, const std::byte* at) {
  switch (type) {
    case DType::f32:
      return read_as<float>(at);
    case DType::f16: {
      oracle_sdk::f16 value;
      std::memcpy(&value, at, sizeof value);
      return value;
    }
    case DType::bf16: {
      oracle_sdk::bf16 value;
      std::memcpy(&value, at, sizeof value);
      return value;
    }
    case DType::f64:
      return read_as<double>(at);
    case DType::i32:
      return read_as<int32_t>(at);
    case DType::u32:
      return read_as<uint32_t>(at);
    case DType::i64:
      return read_as<int64_t>(at);
    case DType::u64:
      return read_as<uint64_t>(at);
    case DType::u8:
      return read_as<uint8_t>(at);
  }
  return 0;
}

void write_element(DType type, std::byte* at, double value) {
  by_type(type, [&](auto store) { store(at, value); });
}

void fill_tensor(const catalog::Tensor& tensor, std::span<std::byte> bytes, uint64_t seed) {
  Rng rng(seed);
  std::byte* to = bytes.data();
  std::byte* const end = to + bytes.size();
  if (tensor.fill == "bits" || tensor.fill == "none") {
    // Also where the oracle writes: elements that it leaves out must be unpredictable.
    while (end - to >= 8) put(to, rng.next());
    for (uint64_t rest = rng.next(); to < end; rest >>= 8) put(to, static_cast<uint8_t>(rest));
    return;
  }
  // There are millions of elements: what depends on the tensor alone is decided before the loop.
  const auto fill_by = [&](auto draw) {
    by_type(tensor.dtype, [&](auto store) {
      while (to < end) store(to, draw(rng.next()));
    });
  };
  if (tensor.fill == "integers") {
    fill_by([](uint64_t bits) { return static_cast<double>(bits % 17) - 8; });
  } else if (tensor.fill == "unit") {
    fill_by([](uint64_t bits) { return 2 * unit(bits) - 1; });
  } else {
    fill_by(spread);
  }
}

Layout::Layout(const catalog::Problem& of_problem, const catalog::SizeClass& of_size, int of_world)
    : problem(&of_problem), size(&of_size), world(of_world) {
  for (int rank = 0; rank < world; ++rank) {
    auto& slots = ranks.emplace_back();
    const auto values = problem->values(*size, world, rank);
    for (const auto& tensor : problem->tensors) {
      const auto elements = problem->elements(tensor, values);
      if (!elements) throw std::runtime_error(to_string(elements.error(), problem->name));
      slots.push_back({&tensor, *elements});
    }
  }
}

int Layout::device(int rank, size_t tensor) const {
  const auto& device = problem->tensors[tensor].device;
  return device ? static_cast<int>(device->evaluate(problem->values(*size, world, rank)).value_or(-1)) : -1;
}

CallData::CallData(const Layout& layout, const Oracle& oracle, uint64_t seed, uint32_t call, bool expects,
                   const Dictionary* dictionary)
    : layout_(&layout), seed_(seed), call_(call), contents_(static_cast<size_t>(layout.world) * layout.tensors()) {
  for (int rank = 0; rank < layout.world; ++rank) {
    for (size_t t = 0; t < layout.tensors(); ++t) {
      const auto& slot = layout.at(rank, t);
      if (slot.tensor->replicated && rank > 0) continue;
      Contents& contents = at(rank, t);
      if (!slot.tensor->output) {
        contents.bytes.resize(slot.bytes());
        fill_tensor(*slot.tensor, contents.bytes, mix(seed, {static_cast<uint64_t>(rank), t}));
        if (dictionary != nullptr)
          plant(*slot.tensor, contents.bytes, *dictionary, call, mix(seed, {static_cast<uint64_t>(rank), t, 1}));
      } else {
        // An element that the oracle forgets is found: nothing is within a bound of NaN.
        contents.expected.value.resize(static_cast<size_t>(slot.elements));
        contents.expected.bound.resize(static_cast<size_t>(slot.elements), std::numeric_limits<double>::quiet_NaN());
      }
    }
  }
  ask([&](auto& raw) { oracle.fill(raw); });
  if (expects) expect_again(oracle);
}

void CallData::expect_again(const Oracle& oracle) {
  ask([&](auto& raw) { oracle.expect(raw); });
  for (int rank = 0; rank < layout_->world; ++rank) {
    for (size_t t = 0; t < layout_->tensors(); ++t) {
      const Contents& contents = at(rank, t);
      const auto& tensor = layout_->problem->tensors[t];
      if (tensor.replicated && rank > 0) continue;
      const auto broken = [&](std::string_view why, size_t i) {
        return std::runtime_error(fmt::format("the oracle of {} says {} of {}[{}] on rank {}", layout_->problem->name,
                                              why, tensor.name, i, rank));
      };
      // One pass that the compiler makes vectors of; which element it was is asked only where there is one.
      const auto& values = contents.expected.value;
      const auto& bounds = contents.expected.bound;
      const bool exact = !catalog::is_float(tensor.dtype);
      // Beyond, several whole numbers are the same double.
      const double most = exact ? 0x1p53 : std::numeric_limits<double>::infinity();
      size_t wrong = 0;
      for (size_t i = 0; i < values.size(); ++i)
        wrong += static_cast<size_t>(!(std::fabs(values[i]) < most)) | static_cast<size_t>(std::isnan(bounds[i]));
      for (size_t i = 0; wrong > 0 && i < values.size(); ++i) {
        if (std::isnan(bounds[i]) || !std::isfinite(values[i])) throw broken("nothing finite", i);
        if (std::fabs(values[i]) >= most) throw broken("a number of more than 53 bits", i);
      }
    }
  }
}

template <class Task>
void CallData::ask(Task task) {
  std::vector<oracle_sdk::RawTensor> tensors;
  for (int rank = 0; rank < layout_->world; ++rank) {
    for (size_t t = 0; t < layout_->tensors(); ++t) {
      const auto& slot = layout_->at(rank, t);
      Contents& contents = at(rank, t);
      // The oracle sets a replicated output once.
      const bool has_expected = slot.tensor->output && (!slot.tensor->replicated || rank == 0);
      tensors.push_back({.name = slot.tensor->name.c_str(),
                         .rank = rank,
                         .dtype = static_cast<uint32_t>(slot.tensor->dtype),
                         .output = slot.tensor->output ? 1u : 0u,
                         .replicated = slot.tensor->replicated ? 1u : 0u,
                         .elements = static_cast<uint64_t>(slot.elements),
                         .data = contents.bytes.data(),
                         .expected = has_expected ? contents.expected.value.data() : nullptr,
                         .bound = has_expected ? contents.expected.bound.data() : nullptr});
    }
  }
  std::vector<oracle_sdk::RawParameter> parameters;
  for (const auto& [name, about] : layout_->problem->parameters)
    parameters.push_back({name.c_str(), layout_->size->values.find(name)->second});
  oracle_sdk::RawCase raw{.world = layout_->world,
                          .call = call_,
                          .seed = seed_,
                          .tensors = tensors.size(),
                          .parameters = parameters.size(),
                          .tensor = tensors.data(),
                          .parameter = parameters.data()};
  task(raw);
}

}  // namespace fb::judge
