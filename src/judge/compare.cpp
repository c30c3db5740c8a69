#include "judge/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace fb::judge {
namespace {

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

bool within(double got, double expected, double bound) {
  return got == expected || std::fabs(got - expected) <= bound || std::isinf(bound);
}

// How many of the wrong elements are right for other expectations.
int64_t count_matches(const Layout::Slot& slot, const Expected& now, const Expected& other,
                      std::span<const std::byte> got) {
  const size_t width = catalog::size_of(slot.tensor->dtype);
  if (other.value.size() != now.value.size()) return 0;
  int64_t matches = 0;
  for (size_t i = 0; i < now.value.size(); ++i) {
    const double value = read_element(slot.tensor->dtype, got.data() + i * width);
    if (!within(value, now.value[i], now.bound[i]) && within(value, other.value[i], other.bound[i])) ++matches;
  }
  return matches;
}

// How many of the wrong elements are bytes of an input at the same place.
int64_t count_copies(const Layout::Slot& slot, const Expected& now, std::span<const std::byte> got,
                     std::span<const std::byte> input) {
  const size_t width = catalog::size_of(slot.tensor->dtype);
  int64_t copies = 0;
  for (size_t i = 0; i < now.value.size() && (i + 1) * width <= input.size(); ++i) {
    const double value = read_element(slot.tensor->dtype, got.data() + i * width);
    if (!within(value, now.value[i], now.bound[i]) &&
        std::memcmp(got.data() + i * width, input.data() + i * width, width) == 0)
      ++copies;
  }
  return copies;
}

constexpr bool most(int64_t part, int64_t whole) { return part > 0 && 2 * part > whole; }

}  // namespace

std::optional<Mismatch> compare(const Layout::Slot& slot, int rank, size_t tensor, const Expected& expected,
                                std::span<const std::byte> got, std::span<const std::byte> poison) {
  const catalog::DType type = slot.tensor->dtype;
  const size_t width = catalog::size_of(type);
  std::optional<Mismatch> found;
  for (size_t i = 0; i < expected.value.size(); ++i) {
    const std::byte* at = got.data() + i * width;
    const double value = read_element(type, at);
    if (within(value, expected.value[i], expected.bound[i])) continue;
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
  const auto& slot = layout.at(m.rank, m.tensor);
  std::string text = summarize(m, layout) + ".\n";
  if (m.wrong > 1) {
    text += fmt::format("{} of {} elements of `{}` on rank {} are wrong, from {} to {}.\n", m.wrong, m.elements,
                        tensor.name, m.rank, position(layout, m, m.index), position(layout, m, m.last));
  }
  const Expected& expected = call.expected(m.rank, m.tensor);
  if (most(m.poison, m.wrong)) {
    text += m.poison == m.elements
                ? fmt::format(
                      "Rank {} never wrote `{}`: it holds what was there before the call. Look at: whether the "
                      "work is enqueued on `stream`, or on a stream that `stream` does not wait for.\n",
                      m.rank, tensor.name)
                : fmt::format(
                      "{} of them were never written. Look at: the end of the range (lengths that are no "
                      "multiple of the vector or the block), the share of each rank, and whether this rank "
                      "waits until its peers have written.\n",
                      m.poison);
    return text;
  }
  if (before != nullptr && most(count_matches(slot, expected, before->expected(m.rank, m.tensor), got), m.wrong)) {
    text +=
        "These are the values of the call before. Look at: flags that are still set from the last call (epochs), "
        "results that are kept, and waiting for this call's data.\n";
    return text;
  }
  for (size_t t = 0; t < layout.tensors(); ++t) {
    if (layout.problem->tensors[t].output || layout.problem->tensors[t].dtype != tensor.dtype) continue;
    for (int rank = 0; rank < layout.world; ++rank) {
      if (!most(count_copies(slot, expected, got, call.input(rank, t)), m.wrong)) continue;
      text += fmt::format("They are what `{}` of rank {} holds{}. Look at: whether all peers' data is used.\n",
                          layout.problem->tensors[t].name, rank, rank == m.rank ? ", its own input" : "");
      return text;
    }
  }
  if (tensor.replicated && catalog::is_float(tensor.dtype) && m.wrong * 10 < m.elements) {
    text +=
        "Most elements are right. Look at: synchronisation (data read before it has arrived, or overwritten while a "
        "slow peer still reads it), and the boundaries of shares.\n";
  } else {
    text +=
        "Look at: which rank's data goes where, synchronisation before reading what peers write, and whether a "
        "fast rank may overwrite what a slow one still reads.\n";
  }
  return text;
}

}  // namespace fb::judge
