#include "judge/data/compare.h"

#include <fabricbench/elements.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "judge/data/differences.h"
#include "judge/data/elements.h"

namespace fb::judge {
namespace {

namespace oracle_sdk = fabricbench::oracle;

// More are no rounding.
constexpr uint64_t kFewUlp = 1'000'000;

// "[12]", or "[3, 0, 4] (12)" for tensors with several dimensions.
std::string position(const Layout& layout, const Mismatch& m, int64_t index) {
  const auto& tensor = layout.problem->tensors[m.tensor];
  if (tensor.shape.size() < 2) return fmt::format("[{}]", index);
  const auto values = layout.problem->values(*layout.size, layout.world, m.rank);
  std::string text;
  for (size_t k = tensor.shape.size(); k-- > 0;) {
    const int64_t extent = tensor.shape[k].evaluate(values).value_or(1);
    text = fmt::format("{}{}{}", index % extent, text.empty() ? "" : ", ", text);
    index /= extent;
  }
  return fmt::format("[{}]", text);
}

// As many digits as tell two numbers of the format apart.
std::string number(catalog::DType type, double value) {
  if (!catalog::is_float(type)) return fmt::format("{:.0f}", value);
  return type == catalog::DType::f64 ? fmt::format("{:.17g}", value) : fmt::format("{:.9g}", value);
}

// Elements are compared in blocks, without branches; only in a block with a wrong one each is looked at.
constexpr size_t kBlock = 1024;

template <class T>
bool all_within_of(const Expected& expected, std::span<const std::byte> got, size_t begin, size_t end) {
  int wrong = 0;
  for (size_t i = begin; i < end; ++i) {
    T element;
    std::memcpy(&element, got.data() + i * sizeof element, sizeof element);
    wrong |=
        static_cast<int>(!oracle_sdk::is_right(static_cast<double>(element), expected.value[i], expected.bound[i]));
  }
  return wrong == 0;
}

bool all_within(catalog::DType type, const Expected& expected, std::span<const std::byte> got, size_t begin,
                size_t end) {
  return oracle_sdk::with_type(static_cast<oracle_sdk::DType>(type),
                               [&](auto zero) { return all_within_of<decltype(zero)>(expected, got, begin, end); });
}

// What to look at where nothing is known about the pattern.
std::string general_advice(const Mismatch& m, const catalog::Problem& problem) {
  const auto& tensor = problem.tensors[m.tensor];
  if (!tensor.look_at.empty()) return "Look at: " + tensor.look_at;
  if (tensor.replicated && catalog::is_float(tensor.dtype) && m.wrong * 10 < m.elements)
    return "Most elements are right. Look at: synchronisation (data read before it has arrived, or overwritten while a "
           "slow peer still reads it), and the boundaries of shares.";
  return "Look at: which rank's data goes where, synchronisation before reading what peers write, and whether a fast "
         "rank may overwrite what a slow one still reads.";
}

}  // namespace

std::optional<Mismatch> compare(const Layout::Slot& slot, int rank, size_t tensor, const Expected& expected,
                                std::span<const std::byte> got, std::span<const std::byte> poison) {
  const catalog::DType type = slot.tensor->dtype;
  const size_t width = catalog::size_of(type);
  std::optional<Mismatch> found;
  for (size_t begin = 0; begin < expected.value.size(); begin += kBlock) {
    const size_t end = std::min(expected.value.size(), begin + kBlock);
    if (all_within(type, expected, got, begin, end)) continue;
    for (size_t i = begin; i < end; ++i) {
      const std::byte* at = got.data() + i * width;
      const double value = read_element(type, at);
      if (oracle_sdk::is_right(value, expected.value[i], expected.bound[i])) continue;
      const auto index = static_cast<int64_t>(i);
      if (!found) {
        found = Mismatch{.rank = rank,
                         .tensor = tensor,
                         .index = index,
                         .elements = slot.elements,
                         .expected = expected.value[i],
                         .bound = expected.bound[i],
                         .got = value};
      }
      found->last = index;
      ++found->wrong;
      if (std::memcmp(at, poison.data() + i * width, width) == 0) ++found->poison;
    }
  }
  return found;
}

std::string summarize(const Mismatch& m, const Layout& layout) {
  const auto& tensor = layout.problem->tensors[m.tensor];
  const std::string bound = m.bound > 0 ? fmt::format(" (±{:.3g})", m.bound) : "";
  return fmt::format("{}{} on rank {} is {}, expected {}{}", tensor.name, position(layout, m, m.index), m.rank,
                     number(tensor.dtype, m.got), number(tensor.dtype, m.expected), bound);
}

std::string explain(const Mismatch& m, const Layout& layout, const CallData& call, const CallData* before,
                    std::span<const std::byte> got) {
  const auto& tensor = layout.problem->tensors[m.tensor];
  std::string text = summarize(m, layout) + ".\n";
  if (m.wrong > 1) {
    text += fmt::format("{} of {} elements of `{}` on rank {} are wrong, from {} to {}.\n", m.wrong, m.elements,
                        tensor.name, m.rank, position(layout, m, m.index), position(layout, m, m.last));
  }
  if (const auto ulp = ulp_between(tensor.dtype, m.got, m.expected); ulp && *ulp > 0 && *ulp <= kFewUlp)
    text += fmt::format("That is {} ulp of {} off.\n", *ulp, catalog::name_of(tensor.dtype));
  std::string pattern;
  const bool known = first_detector({m, layout, call, before, got}, pattern) != nullptr;
  text += (known ? pattern : general_advice(m, *layout.problem)) + "\n";
  // A utility's own words help beside a pattern, too.
  if (known && !tensor.look_at.empty()) text += fmt::format("`{}`: {}\n", tensor.name, tensor.look_at);
  return text;
}

}  // namespace fb::judge
