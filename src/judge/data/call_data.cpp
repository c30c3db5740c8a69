#include "judge/data/call_data.h"

#include <fabricbench/elements.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "common/base/hash.h"

namespace fb::judge {
namespace {

using catalog::DType;
namespace oracle_sdk = fabricbench::oracle;

oracle_sdk::DType sdk_type(DType type) { return static_cast<oracle_sdk::DType>(type); }

}  // namespace

void fill_tensor(const catalog::Tensor& tensor, std::span<std::byte> bytes, uint64_t seed) {
  // The loader has refused other names.
  const oracle_sdk::Fill fill = oracle_sdk::fill_named(tensor.fill).value_or(oracle_sdk::Fill::spread);
  oracle_sdk::fill_elements(sdk_type(tensor.dtype), fill, bytes.data(), bytes.size(), seed);
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
        fill_tensor(*slot.tensor, contents.bytes, oracle_sdk::seed_of_tensor(seed, rank, t));
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
                         .bound = has_expected ? contents.expected.bound.data() : nullptr,
                         .first = 0,
                         .kept = contents.expected.value.size()});
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
