#include "audit/prove/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <vector>

#include "common/base/hash.h"
#include "common/base/rng.h"

namespace fb::prove {
namespace {

using judge::CallData;
using judge::Layout;

// Elements that are tried of each input of each rank.
constexpr int kTries = 6;

// The ranks whose expected outputs differ by more than rounding.
std::vector<int> ranks_that_differ(const Layout& layout, const CallData& one, const CallData& other) {
  std::vector<int> ranks;
  for (int rank = 0; rank < layout.world; ++rank) {
    bool differs = false;
    for (size_t t = 0; t < layout.tensors() && !differs; ++t) {
      if (!layout.problem->tensors[t].output) continue;
      const auto &a = one.expected(rank, t), &b = other.expected(rank, t);
      for (size_t i = 0; i < a.value.size() && !differs; ++i) {
        if (std::isinf(a.bound[i]) != std::isinf(b.bound[i])) differs = true;
        if (std::isinf(a.bound[i])) continue;
        differs |= std::fabs(a.value[i] - b.value[i]) > a.bound[i] + b.bound[i];
      }
    }
    if (differs) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

std::string find_insensitivity(const Layout& layout, const judge::Oracle& oracle, uint64_t seed) {
  const CallData original(layout, oracle, seed, 0);
  // Valid elements to put in place of the original ones.
  const CallData donor(layout, oracle, mix(seed, 77), 0);
  Rng rng(seed);
  bool remote = layout.world == 1;
  for (size_t t = 0; t < layout.tensors(); ++t) {
    const auto& tensor = layout.problem->tensors[t];
    if (tensor.output) continue;
    bool matters = false;
    for (int rank = 0; rank < (tensor.replicated ? 1 : layout.world); ++rank) {
      const auto elements = static_cast<uint64_t>(layout.at(rank, t).elements);
      const size_t width = catalog::size_of(tensor.dtype);
      for (int k = 0; k < kTries && elements > 0; ++k) {
        // The first and the last, then any.
        const uint64_t i = k == 0 ? 0 : k == 1 ? elements - 1 : rng.below(elements);
        CallData changed = original;
        const auto from = donor.input(rank, t).subspan(i * width, width);
        if (std::ranges::equal(from, original.input(rank, t).subspan(i * width, width))) continue;
        std::ranges::copy(from, changed.writable_input(rank, t).begin() + static_cast<std::ptrdiff_t>(i * width));
        try {
          changed.expect_again(oracle);
        } catch (const std::exception&) {
          continue;  // no valid input
        }
        const auto ranks = ranks_that_differ(layout, original, changed);
        matters |= !ranks.empty();
        remote |= !tensor.replicated && std::ranges::any_of(ranks, [&](int other) { return other != rank; });
      }
    }
    if (!matters) return fmt::format("no expected value depends on `{}`", tensor.name);
  }
  return remote ? "" : "no expected value depends on another rank's input";
}

std::string find_nondeterminism(const Layout& layout, const judge::Oracle& oracle, uint64_t seed) {
  const CallData one(layout, oracle, seed, 0), again(layout, oracle, seed, 0), other(layout, oracle, mix(seed, 5), 1);
  bool changes = false;
  for (int rank = 0; rank < layout.world; ++rank) {
    for (size_t t = 0; t < layout.tensors(); ++t) {
      const std::string& name = layout.problem->tensors[t].name;
      if (layout.problem->tensors[t].output) {
        if (one.expected(rank, t).value != again.expected(rank, t).value)
          return fmt::format("`{}` is expected differently at the second evaluation", name);
        changes |= one.expected(rank, t).value != other.expected(rank, t).value;
      } else if (!std::ranges::equal(one.input(rank, t), again.input(rank, t))) {
        return fmt::format("`{}` is filled differently at the second evaluation", name);
      }
    }
  }
  return changes ? "" : "two seeds give the same expected values";
}

}  // namespace fb::prove
