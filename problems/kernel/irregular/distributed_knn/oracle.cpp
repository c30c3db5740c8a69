#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <algorithm>
#include <utility>
#include <vector>

using namespace fabricbench::oracle;

namespace {

constexpr int kMost = 8;

// Whole numbers from -most to most, nearly evenly drawn.
void draw(Random& random, int most, std::span<bf16> numbers) {
  const auto values = static_cast<unsigned>(2 * most + 1);
  uint64_t bits = 0;
  for (size_t i = 0; i < numbers.size(); ++i, bits >>= 8) {
    if (i % 8 == 0) bits = random.bits();
    numbers[i] = bf16(static_cast<float>(static_cast<int>((bits & 255) * values >> 8) - most));
  }
}

// `center` and a deviation of up to 5.
void draw_near(Random& random, std::span<const bf16> center, std::span<bf16> numbers) {
  draw(random, 5, numbers);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = bf16(numbers[i] + center[i]);
}

std::vector<int16_t> whole(std::span<const bf16> numbers) {
  std::vector<int16_t> all;
  for (const bf16 number : numbers) all.push_back(static_cast<int16_t>(number));
  return all;
}

FABRICBENCH_WIDEST int32_t product(const int16_t* a, const int16_t* b, int64_t dim) {
  int32_t sum = 0;
  for (int64_t d = 0; d < dim; ++d) sum += int32_t{a[d]} * b[d];
  return sum;
}

}  // namespace

// In half of the calls all queries are near one place, and so are the entries of one rank, which has the neighbours
// then. One entry in 8 is an earlier one again, of any rank, with another class: it ties with it at every query.
void fill(Case& c) {
  const auto database = static_cast<size_t>(c["database"]), dim = static_cast<size_t>(c["dim"]);
  std::vector<bf16> center(dim);
  draw(c.random, kMost - 5, center);
  const int popular = c.random.below(2) == 0 ? static_cast<int>(c.random.below(c.world())) : -1;
  std::vector<std::span<bf16>> entries;
  for (int rank = 0; rank < c.world(); ++rank) {
    const std::span<bf16> query = c.input<bf16>("query", rank), own = c.input<bf16>("entry", rank);
    for (size_t i = 0; i < query.size(); i += dim) {
      if (popular >= 0) {
        draw_near(c.random, center, query.subspan(i, dim));
      } else {
        draw(c.random, kMost, query.subspan(i, dim));
      }
    }
    for (size_t j = 0; j < database; ++j) {
      const std::span<bf16> entry = own.subspan(j * dim, dim);
      if (!entries.empty() && c.random.below(8) == 0) {
        const std::span<bf16> earlier = entries[static_cast<size_t>(c.random.below(std::ssize(entries)))];
        std::copy(earlier.begin(), earlier.end(), entry.begin());
      } else if (rank == popular) {
        draw_near(c.random, center, entry);
      } else {
        draw(c.random, kMost, entry);
      }
      entries.push_back(entry);
    }
    for (int32_t& label : c.input<int32_t>("label", rank)) label = static_cast<int32_t>(c.random.below(1000));
  }
}

void expect(Case& c) {
  const int64_t queries = c["queries"], dim = c["dim"], k = c["k"];
  std::vector<int16_t> entries;
  std::vector<int32_t> labels;
  for (int rank = 0; rank < c.world(); ++rank) {
    const std::vector<int16_t> own = whole(c.input<bf16>("entry", rank));
    entries.insert(entries.end(), own.begin(), own.end());
    const auto label = c.input<int32_t>("label", rank);
    labels.insert(labels.end(), label.begin(), label.end());
  }
  std::vector<std::pair<int32_t, int32_t>> order(labels.size());  // (- similarity, number of the entry)
  for (int rank = 0; rank < c.world(); ++rank) {
    const std::vector<int16_t> query = whole(c.input<bf16>("query", rank));
    Output similarity = c.output("similarity", rank), neighbour = c.output("neighbour", rank);
    for (int64_t q = 0; q < queries; ++q) {
      for (size_t j = 0; j < order.size(); ++j)
        order[j] = {-product(&query[static_cast<size_t>(q * dim)], &entries[j * static_cast<size_t>(dim)], dim),
                    static_cast<int32_t>(j)};
      std::partial_sort(order.begin(), order.begin() + k, order.end());
      for (int64_t i = 0; i < k; ++i) {
        const auto [negative, entry] = order[static_cast<size_t>(i)];
        similarity.set(q * k + i, -negative);
        neighbour.set(q * k + i, labels[static_cast<size_t>(entry)]);
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
