#pragma once

// What a wrong output looks like. Detectors look at expected and actual values, inputs and the call before; the first
// that has evidence decides, and none claims without.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "judge/data/call_data.h"
#include "judge/data/mismatch.h"

namespace fb::judge {

struct Difference {
  const Mismatch& mismatch;
  const Layout& layout;
  const CallData& call;
  const CallData* before;  // the call before; null: none
  std::span<const std::byte> got;

  const catalog::Tensor& tensor() const { return layout.problem->tensors[mismatch.tensor]; }
  const Expected& expected() const { return call.expected(mismatch.rank, mismatch.tensor); }
  double value(size_t index) const;
};

struct Detector {
  std::string_view name;
  // What the difference looks like and what to look at; nothing: it does not look like this.
  std::optional<std::string> (*look)(const Difference& d);
};

// In this order: the most specific first.
std::span<const Detector> detectors();

// The first detector with evidence; null: none.
const Detector* first_detector(const Difference& d, std::string& text);

// How many numbers of the format lie between the two, plus one; 0: equal once rounded to the format. Floating-point
// formats only; nothing where one of them is no number.
std::optional<uint64_t> ulp_between(catalog::DType type, double a, double b);

}  // namespace fb::judge
