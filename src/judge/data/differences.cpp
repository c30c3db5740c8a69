#include "judge/data/differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>

#include "judge/data/elements.h"

namespace fb::judge {
namespace {

using catalog::DType;
using Said = std::optional<std::string>;

// Of the wrong elements, at most this many are looked at.
constexpr size_t kMostLookedAt = 4096;
// So many values that fit are no chance.
constexpr size_t kEnough = 3;

bool is_near(double got, double expected, double bound) {
  return got == expected || std::fabs(got - expected) <= bound;
}

std::vector<size_t> wrong_elements(const Difference& d) {
  std::vector<size_t> list;
  const Expected& expected = d.expected();
  for (size_t i = 0; i < expected.value.size() && list.size() < kMostLookedAt; ++i) {
    const double bound = expected.bound[i];
    if (!std::isinf(bound) && !is_near(d.value(i), expected.value[i], bound)) list.push_back(i);
  }
  return list;
}

// Whether a value is unlikely to be met by chance.
bool is_telling(DType type, double value) {
  constexpr double kCommon = 1 << 16;
  if (catalog::is_float(type)) return value != 0 && std::isfinite(value) && catalog::size_of(type) >= 4;
  return std::fabs(value) >= kCommon;
}

// Most of the wrong elements satisfy `fits`, and enough of them to be no chance.
bool mostly(const Difference& d, const std::vector<size_t>& wrong, const std::function<bool(size_t)>& fits) {
  size_t matches = 0, telling = 0;
  for (const size_t i : wrong) {
    if (!fits(i)) continue;
    ++matches;
    if (is_telling(d.tensor().dtype, d.value(i))) ++telling;
  }
  return 3 * matches > 2 * wrong.size() && (matches >= kEnough || telling > 0);
}

std::string name_of_rank(const Difference& d, int rank) {
  return rank == d.mismatch.rank ? "its own" : fmt::format("rank {}'s", rank);
}

size_t element_count(const Difference& d) { return d.expected().value.size(); }

// The other expected values at element `i + shift`; out of range: no match.
bool equals_expected(const Difference& d, const Expected& other, size_t at, size_t i) {
  return at < other.value.size() && other.value[at] != d.expected().value[i] &&
         is_near(d.value(i), other.value[at], other.bound[at]);
}

// ---- written or not

Said never_written(const Difference& d) {
  const Mismatch& m = d.mismatch;
  if (m.poison == 0 || 2 * m.poison <= m.wrong) return std::nullopt;
  if (m.poison == m.elements)
    return fmt::format(
        "Rank {} never wrote `{}`: it holds what was there before the call. Look at: whether the work is enqueued on "
        "`stream`, or on a stream that `stream` does not wait for, and whether a launch failed.",
        m.rank, d.tensor().name);
  const bool suffix = m.last == m.elements - 1 && m.wrong == m.last - m.index + 1 && m.poison == m.wrong;
  if (suffix)
    return fmt::format(
        "The tail is missing: the last {} of {} elements were never written. Look at: lengths that are no multiple of "
        "the vector, the block or the number of ranks.",
        m.wrong, m.elements);
  return fmt::format(
      "{} of them were never written. Look at: the end of the range (lengths that are no multiple of the vector or the "
      "block), the share of each rank, and whether this rank waits until its peers have written.",
      m.poison);
}

// ---- the right values of another time or place

Said call_before(const Difference& d) {
  if (d.before == nullptr) return std::nullopt;
  const Expected& other = d.before->expected(d.mismatch.rank, d.mismatch.tensor);
  if (other.value.size() != element_count(d)) return std::nullopt;
  if (!mostly(d, wrong_elements(d), [&](size_t i) { return equals_expected(d, other, i, i); })) return std::nullopt;
  return "These are the values of the call before. Look at: flags that are still set from the last call (epochs), "
         "results that are kept, and waiting for this call's data.";
}

Said other_ranks_output(const Difference& d) {
  if (d.tensor().replicated) return std::nullopt;
  const auto wrong = wrong_elements(d);
  for (int rank = 0; rank < d.layout.world; ++rank) {
    if (rank == d.mismatch.rank) continue;
    const Expected& other = d.call.expected(rank, d.mismatch.tensor);
    if (!mostly(d, wrong, [&](size_t i) { return equals_expected(d, other, i, i); })) continue;
    return fmt::format(
        "They are what `{}` of rank {} should hold: the data of another rank. Look at: the rank from which the source "
        "and the destination are computed.",
        d.tensor().name, rank);
  }
  return std::nullopt;
}

// Output and expected in as many chunks as there are ranks: each wrong chunk holds another one.
Said permuted_chunks(const Difference& d) {
  const auto world = static_cast<size_t>(d.layout.world);
  const size_t count = element_count(d);
  if (world < 2 || count % world != 0) return std::nullopt;
  const size_t chunk = count / world;
  const Expected& expected = d.expected();
  const auto wrong = wrong_elements(d);
  std::optional<size_t> step;  // by how many chunks all are off
  bool same_step = true;
  std::vector<std::pair<size_t, size_t>> moved;
  for (size_t c = 0; c < world; ++c) {
    std::vector<size_t> here;
    for (const size_t i : wrong) {
      if (i / chunk == c) here.push_back(i);
    }
    if (here.empty()) continue;
    size_t from = world;
    for (size_t o = 0; o < world && from == world; ++o) {
      if (o == c) continue;
      if (mostly(d, here, [&](size_t i) { return equals_expected(d, expected, o * chunk + i % chunk, i); })) from = o;
    }
    if (from == world) return std::nullopt;
    moved.emplace_back(c, from);
    const size_t by = (from + world - c) % world;
    if (step && *step != by) same_step = false;
    step = by;
  }
  if (moved.empty()) return std::nullopt;
  if (same_step && moved.size() > 1 && (*step == 1 || *step == world - 1))
    return fmt::format(
        "The chunks are off by one: chunk {} of {} holds what belongs in chunk {}. Look at: the chunk that each step "
        "sends and receives ((rank - step) or (rank - step - 1)).",
        moved.front().first, world, moved.front().second);
  return fmt::format(
      "The chunks are permuted: of {} chunks, chunk {} holds what belongs in chunk {}{}. Look at: the rank that a "
      "chunk "
      "comes from and the place that it goes to.",
      world, moved.front().first, moved.front().second,
      moved.size() > 1 ? fmt::format(", chunk {} what belongs in {}", moved.back().first, moved.back().second) : "");
}

Said shifted(const Difference& d) {
  const auto wrong = wrong_elements(d);
  const Expected& expected = d.expected();
  for (const int by : {1, -1, 2, -2, 4, -4}) {
    const auto fits = [&](size_t i) {
      const auto at = static_cast<int64_t>(i) + by;
      return at >= 0 && equals_expected(d, expected, static_cast<size_t>(at), i);
    };
    if (mostly(d, wrong, fits))
      return fmt::format(
          "The values are shifted by {} element{}: element i holds what belongs in element i {} {}. Look at: offsets.",
          std::abs(by), std::abs(by) == 1 ? "" : "s", by > 0 ? "+" : "-", std::abs(by));
  }
  return std::nullopt;
}

Said transposed(const Difference& d) {
  const auto& shape = d.tensor().shape;
  const auto values = d.layout.problem->values(*d.layout.size, d.layout.world, d.mismatch.rank);
  std::vector<size_t> splits;  // rows × columns, for each place where the shape can be cut
  size_t rows = 1;
  for (size_t k = 0; k + 1 < shape.size(); ++k) {
    rows *= static_cast<size_t>(shape[k].evaluate(values).value_or(1));
    splits.push_back(rows);
  }
  splits.push_back(static_cast<size_t>(d.layout.world));
  const auto wrong = wrong_elements(d);
  for (const size_t r : splits) {
    if (r < 2 || element_count(d) % r != 0 || element_count(d) / r < 2) continue;
    const size_t columns = element_count(d) / r;
    const auto fits = [&](size_t i) { return equals_expected(d, d.expected(), (i % r) * columns + i / r, i); };
    if (mostly(d, wrong, fits))
      return fmt::format(
          "The values are transposed: {} × {} where {} × {} is expected. Look at: which index runs fastest.", columns,
          r, r, columns);
  }
  return std::nullopt;
}

// ---- values that are off by a simple change

Said sign(const Difference& d) {
  const auto fits = [&](size_t i) {
    return d.expected().value[i] != 0 && is_near(-d.value(i), d.expected().value[i], d.expected().bound[i]);
  };
  if (!mostly(d, wrong_elements(d), fits)) return std::nullopt;
  return "The sign is wrong: they are minus the expected values. Look at: differences whose operands are swapped.";
}

Said scaled(const Difference& d) {
  const double world = d.layout.world;
  struct Factor {
    double by;
    std::string text;
  };
  const std::array<Factor, 4> factors = {
      Factor{1 / world, "1 / world: a mean where a sum is expected. Look at: a division by the number of ranks"},
      Factor{world, "world: a sum where a mean is expected, or a contribution of one rank that is counted for all"},
      Factor{2,
             "2: everything is counted twice. Look at: an accumulator that is not cleared, or a sum that is "
             "added to itself"},
      Factor{0.5, "1/2: a half of the contributions, or a division by 2"}};
  const auto wrong = wrong_elements(d);
  for (const auto& [by, text] : factors) {
    if (by == 1) continue;
    const auto fits = [&, factor = by](size_t i) {
      const double expected = d.expected().value[i];
      if (expected == 0) return false;
      const bool loose = catalog::is_float(d.tensor().dtype) && wrong.size() >= kEnough;
      const double slack = loose ? std::fabs(expected) * factor * 0x1p-7 : 0;
      return is_near(d.value(i), expected * factor, d.expected().bound[i] * factor + slack);
    };
    if (mostly(d, wrong, fits)) return fmt::format("They are off by the factor {}.", text);
  }
  return std::nullopt;
}

Said all_zero(const Difference& d) {
  const auto wrong = wrong_elements(d);
  if (!std::ranges::all_of(wrong, [&](size_t i) { return d.value(i) == 0 && d.expected().value[i] != 0; }))
    return std::nullopt;
  return "They are 0: memory that was cleared and has not been written yet, or an accumulator that nothing was added "
         "to. "
         "Look at: whether the data has arrived before it is read (a flag that is seen before the data that it stands "
         "for: a release before it is set, an acquire after it is seen), and the range that is written.";
}

// ---- inputs

// Where the elements of an output come from in an input: at the same place, or in the share of this rank.
std::optional<size_t> share_in(const Difference& d, int rank, size_t tensor) {
  const auto& about = d.layout.problem->tensors[tensor];
  const auto elements = static_cast<size_t>(d.layout.at(rank, tensor).elements);
  if (about.output || catalog::is_float(about.dtype) != catalog::is_float(d.tensor().dtype)) return std::nullopt;
  if (elements == element_count(d)) return 0;
  if (elements == element_count(d) * static_cast<size_t>(d.layout.world))
    return static_cast<size_t>(d.mismatch.rank) * element_count(d);
  return std::nullopt;
}

double input_value(const Difference& d, const CallData& call, int rank, size_t tensor, size_t index) {
  const DType type = d.layout.problem->tensors[tensor].dtype;
  return read_element(type, call.input(rank, tensor).data() + index * catalog::size_of(type));
}

Said input_of_one_rank(const Difference& d) {
  const auto wrong = wrong_elements(d);
  for (size_t t = 0; t < d.layout.tensors(); ++t) {
    for (int k = 0; k < d.layout.world; ++k) {
      const int rank = (d.mismatch.rank + k) % d.layout.world;  // its own first
      const auto share = share_in(d, rank, t);
      if (!share || d.layout.problem->tensors[t].dtype != d.tensor().dtype) continue;
      if (!mostly(d, wrong, [&](size_t i) { return d.value(i) == input_value(d, d.call, rank, t, *share + i); }))
        continue;
      return fmt::format("They are what `{}` of rank {} holds{}. Look at: whether all peers' data is used.",
                         d.layout.problem->tensors[t].name, rank, rank == d.mismatch.rank ? ", its own input" : "");
    }
  }
  return std::nullopt;
}

// An input whose sum over the ranks is the output, by all elements of it.
std::optional<size_t> summed_input(const Difference& d) {
  if (d.layout.world < 2) return std::nullopt;
  const Expected& expected = d.expected();
  for (size_t t = 0; t < d.layout.tensors(); ++t) {
    bool is_sum = true;
    for (size_t i = 0; i < std::min(expected.value.size(), kMostLookedAt) && is_sum; ++i) {
      double sum = 0;
      for (int rank = 0; rank < d.layout.world && is_sum; ++rank) {
        const auto share = share_in(d, rank, t);
        if (share) sum += input_value(d, d.call, rank, t, *share + i);
        is_sum = share.has_value();
      }
      const double slack = std::fabs(sum) * 0x1p-40;
      is_sum = is_sum && std::fabs(sum - expected.value[i]) <= expected.bound[i] + slack;
    }
    if (is_sum) return t;
  }
  return std::nullopt;
}

double ulp_of(DType type, double value) {
  switch (type) {
    case DType::f64:
      return std::fabs(value) * 0x1p-52;
    case DType::f32:
      return std::fabs(value) * 0x1p-23;
    case DType::f16:
      return std::fabs(value) * 0x1p-10;
    case DType::bf16:
      return std::fabs(value) * 0x1p-7;
    default:
      return 0;
  }
}

Said contribution(const Difference& d) {
  const auto t = summed_input(d);
  if (!t) return std::nullopt;
  const std::string& name = d.layout.problem->tensors[*t].name;
  const auto wrong = wrong_elements(d);
  for (int rank = 0; rank < d.layout.world; ++rank) {
    const size_t share = *share_in(d, rank, *t);
    const auto off_by = [&](auto change) {
      return mostly(d, wrong, [&](size_t i) {
        const double target = d.expected().value[i] + change(i);
        return change(i) != 0 && is_near(d.value(i), target, d.expected().bound[i] + ulp_of(d.tensor().dtype, target));
      });
    };
    const auto now = [&](size_t i) { return input_value(d, d.call, rank, *t, share + i); };
    if (off_by([&](size_t i) { return -now(i); }))
      return fmt::format(
          "One contribution is missing: they are the sum without `{}` of rank {}. Look at: the ranks that the sum runs "
          "over, and waiting for that rank.",
          name, rank);
    if (off_by(now))
      return fmt::format(
          "One contribution is counted twice: they are the sum plus `{}` of rank {} once more. Look at: an accumulator "
          "that begins with {} data and adds it again.",
          name, rank, name_of_rank(d, rank));
    if (d.before != nullptr &&
        off_by([&](size_t i) { return input_value(d, *d.before, rank, *t, share + i) - now(i); }))
      return fmt::format(
          "The contribution of rank {} is stale: they are the sum with its `{}` of the call before. Look at: waiting "
          "for "
          "that rank's data of this call, and a buffer that is overwritten while it is read.",
          rank, name);
  }
  return std::nullopt;
}

// ---- rounding

double rounded(DType type, double value) {
  std::array<std::byte, 8> bytes;
  write_element(type, bytes.data(), value);
  return read_element(type, bytes.data());
}

const char* format_name(DType type) { return type == DType::f16 ? "fp16" : type == DType::bf16 ? "bf16" : "fp32"; }

// What the sum would be if it were computed in this way.
struct SumVariant {
  DType type;
  enum : uint8_t { up, down, pairs, before } order;
  int first;
};

double evaluate(const SumVariant& v, const std::vector<double>& terms) {
  const auto n = static_cast<int>(terms.size());
  const auto term = [&](int k) { return rounded(v.type, terms[static_cast<size_t>(((k % n) + n) % n)]); };
  if (v.order == SumVariant::before) {
    double sum = 0;
    for (int k = 0; k < n; ++k) sum += term(k);
    return sum;
  }
  if (v.order == SumVariant::pairs) {
    std::vector<double> level(terms);
    while (level.size() > 1) {
      std::vector<double> next;
      for (size_t k = 0; k < level.size(); k += 2)
        next.push_back(k + 1 < level.size() ? rounded(v.type, level[k] + level[k + 1]) : level[k]);
      level = std::move(next);
    }
    return level.front();
  }
  double sum = term(v.first);
  for (int k = 1; k < n; ++k) sum = rounded(v.type, sum + term(v.order == SumVariant::up ? v.first + k : v.first - k));
  return sum;
}

Said rounding_of_a_sum(const Difference& d) {
  const auto t = summed_input(d);
  const DType out = d.tensor().dtype;
  if (!t || !catalog::is_float(out)) return std::nullopt;
  const auto wrong = wrong_elements(d);
  const auto terms_at = [&](size_t i) {
    std::vector<double> terms;
    for (int rank = 0; rank < d.layout.world; ++rank)
      terms.push_back(input_value(d, d.call, rank, *t, *share_in(d, rank, *t) + i));
    return terms;
  };
  const DType in = d.layout.problem->tensors[*t].dtype;
  for (const DType type : {DType::bf16, DType::f16}) {
    std::vector<SumVariant> variants = {{type, SumVariant::pairs, 0}};
    if (catalog::size_of(in) > catalog::size_of(type)) variants.insert(variants.begin(), {type, SumVariant::before, 0});
    for (int first = 0; first < d.layout.world; ++first) {
      variants.push_back({type, SumVariant::up, first});
      variants.push_back({type, SumVariant::down, first});
    }
    for (const SumVariant& v : variants) {
      if (!mostly(d, wrong, [&](size_t i) { return d.value(i) == rounded(out, evaluate(v, terms_at(i))); })) continue;
      if (v.order == SumVariant::before)
        return fmt::format(
            "The data was rounded before the sum: they are the sum of the inputs rounded to {}. Look at: the format in "
            "which data is sent.",
            format_name(type));
      return fmt::format(
          "The sum was accumulated in {0}: they are the sum with each partial sum rounded to {0}. Look at: the type of "
          "the accumulator, and partial sums that are stored in the output's format; add in fp32 and round once.",
          format_name(type));
    }
  }
  return std::nullopt;
}

// Small everywhere, relative to the size of the values: the right computation with other rounding.
Said rounding(const Difference& d) {
  const DType out = d.tensor().dtype;
  if (!catalog::is_float(out) || d.mismatch.poison > 0) return std::nullopt;
  const Expected& expected = d.expected();
  double squares = 0;
  for (const double value : expected.value) squares += value * value;
  const double typical = std::sqrt(squares / static_cast<double>(std::max<size_t>(expected.value.size(), 1)));
  double worst = 0;
  uint64_t most_ulp = 0;
  for (const size_t i : wrong_elements(d)) {
    if (!std::isfinite(d.value(i))) return std::nullopt;
    worst =
        std::max(worst, std::fabs(d.value(i) - expected.value[i]) / std::max(std::fabs(expected.value[i]), typical));
    most_ulp = std::max(most_ulp, ulp_between(out, d.value(i), expected.value[i]).value_or(UINT64_MAX));
  }
  constexpr double kRounding = 0x1p-5;  // a few roundings to bf16
  if (!(worst > 0) || worst > kRounding) return std::nullopt;
  const char* like = worst > 0x1p-10 ? "bf16" : worst > 0x1p-14 ? "fp16" : "fp32";
  return fmt::format(
      "All are close: at most {} ulp of {}, a relative error of {:.1g}, as from a rounding to {} that should not be "
      "there "
      "(or one in another place). Look at: the format of intermediate results, sums that are rounded more than once, a "
      "value that is used rounded in one place and unrounded in another, and constants such as eps (inside or outside "
      "the root). This is no synchronisation.",
      most_ulp, catalog::name_of(out), worst, like);
}

// Few codes or counts, each the next one: the right computation with another rounding at the end.
Said next_code(const Difference& d) {
  if (catalog::is_float(d.tensor().dtype) || d.mismatch.poison > 0) return std::nullopt;
  if (d.mismatch.wrong * 10 > d.mismatch.elements) return std::nullopt;
  const auto wrong = wrong_elements(d);
  const bool all =
      std::ranges::all_of(wrong, [&](size_t i) { return std::fabs(d.value(i) - d.expected().value[i]) == 1; });
  if (!all) return std::nullopt;
  return "Few are wrong, and each is the next code or number. Look at: arithmetic, such as how a quotient is rounded "
         "(a "
         "product with a reciprocal is no division), what becomes of ties, and a comparison that should include its "
         "limit. This is no synchronisation.";
}

Said no_number(const Difference& d) {
  if (!catalog::is_float(d.tensor().dtype) || d.mismatch.poison > 0) return std::nullopt;
  const auto wrong = wrong_elements(d);
  const bool all = std::ranges::all_of(
      wrong, [&](size_t i) { return std::isnan(d.value(i)) && std::isfinite(d.expected().value[i]); });
  if (!all) return std::nullopt;
  return "They are NaN. Look at: arithmetic with values that do not count (0 times NaN or infinity is NaN: leave "
         "masked "
         "values out instead), 0 / 0, the root or logarithm of a negative number, the difference of two infinities "
         "(the "
         "maximum of an empty row), and scratch memory that was never written.";
}

// The same factor over a row, and another one in other rows.
Said factor_of_rows(const Difference& d) {
  const auto& shape = d.tensor().shape;
  if (shape.size() < 2 || !catalog::is_float(d.tensor().dtype)) return std::nullopt;
  const auto values = d.layout.problem->values(*d.layout.size, d.layout.world, d.mismatch.rank);
  const auto columns = static_cast<size_t>(shape.back().evaluate(values).value_or(1));
  if (columns < 4) return std::nullopt;
  const Expected& expected = d.expected();
  const double slack = 4 * ulp_of(d.tensor().dtype, 1);
  size_t rows = 0;
  double first = 0, least = INFINITY, most = -INFINITY;
  for (size_t row = 0; (row + 1) * columns <= expected.value.size(); ++row) {
    std::vector<double> factors;
    bool wrong = false;
    for (size_t i = row * columns; i < (row + 1) * columns; ++i) {
      if (expected.value[i] == 0) continue;
      factors.push_back(d.value(i) / expected.value[i]);
      wrong = wrong || !is_near(d.value(i), expected.value[i], expected.bound[i]);
    }
    if (!wrong || factors.size() < 4) continue;
    const auto [low, high] = std::ranges::minmax_element(factors);
    if (!(*high - *low <= slack * std::fabs(*high)) || *low <= 0) return std::nullopt;
    ++rows;
    first = rows == 1 ? *low : first;
    least = std::min(least, *low);
    most = std::max(most, *high);
  }
  if (rows == 0) return std::nullopt;
  return fmt::format(
      "Each row is off by one factor ({:.6g} in the first; {:.6g} to {:.6g} over {} rows): its elements are right "
      "relative "
      "to each other. Look at: what a row is divided by: eps inside the root or outside, mean or sum of squares, the "
      "number of columns, and the values that the norm is computed from.",
      first, least, most, rows);
}

constexpr Detector kDetectors[] = {
    {"never written", never_written},
    {"call before", call_before},
    {"zero", all_zero},
    {"sign", sign},
    {"one rank's input", input_of_one_rank},
    {"another rank's output", other_ranks_output},
    {"permuted chunks", permuted_chunks},
    {"shifted", shifted},
    {"transposed", transposed},
    {"rounding of a sum", rounding_of_a_sum},
    {"contribution", contribution},
    {"scaled", scaled},
    {"next code", next_code},
    {"no number", no_number},
    {"rounding", rounding},
    {"factor of rows", factor_of_rows},
};

// Bits as a number that grows with the value.
int64_t ordered(DType type, double value) {
  std::array<std::byte, 8> bytes{};
  write_element(type, bytes.data(), value);
  const size_t width = catalog::size_of(type);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), width);
  const uint64_t sign_bit = uint64_t{1} << (8 * width - 1);
  return (bits & sign_bit) != 0 ? -static_cast<int64_t>(bits & (sign_bit - 1)) : static_cast<int64_t>(bits);
}

}  // namespace

double Difference::value(size_t index) const {
  const DType type = tensor().dtype;
  return read_element(type, got.data() + index * catalog::size_of(type));
}

std::span<const Detector> detectors() { return kDetectors; }

const Detector* first_detector(const Difference& d, std::string& text) {
  for (const Detector& detector : kDetectors) {
    auto said = detector.look(d);
    if (!said) continue;
    text = std::move(*said);
    return &detector;
  }
  return nullptr;
}

std::optional<uint64_t> ulp_between(DType type, double a, double b) {
  if (!catalog::is_float(type) || !std::isfinite(a) || !std::isfinite(b)) return std::nullopt;
  const int64_t x = ordered(type, a), y = ordered(type, b);
  return x > y ? static_cast<uint64_t>(x) - static_cast<uint64_t>(y)
               : static_cast<uint64_t>(y) - static_cast<uint64_t>(x);
}

}  // namespace fb::judge
