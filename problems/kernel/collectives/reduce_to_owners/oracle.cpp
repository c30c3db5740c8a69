#include <fabricbench/oracle.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

using namespace fabricbench::oracle;

// Cuts the gradients into buckets of random lengths, and deals them out as frameworks do: the longest that is left goes
// to the rank that has the least. Each rank gets one at least, as there are no fewer buckets than ranks. Which rank is
// which is drawn anew, too.
void fill(Case& c) {
  const auto buckets = static_cast<size_t>(c["buckets"]), world = static_cast<size_t>(c.world());
  const int64_t groups = c["n"] / 4;  // of four gradients; each bucket has one at least
  std::vector<double> weight(buckets);
  for (double& w : weight) w = c.random.between(0.2, 1.8);
  const double all = std::accumulate(weight.begin(), weight.end(), 0.0);
  std::vector<int32_t> ends(buckets), lengths(buckets), owners(buckets);
  double before = 0;
  for (size_t b = 0; b < buckets; ++b) {
    before += weight[b];
    const auto spare = static_cast<double>(groups - static_cast<int64_t>(buckets));
    const int64_t end = static_cast<int64_t>(b) + 1 + static_cast<int64_t>(spare * std::min(before / all, 1.0));
    ends[b] = static_cast<int32_t>(4 * (b + 1 == buckets ? groups : end));
    lengths[b] = ends[b] - (b == 0 ? 0 : ends[b - 1]);
  }

  std::vector<size_t> order(buckets);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return lengths[a] > lengths[b]; });
  std::vector<int32_t> name(world);
  std::iota(name.begin(), name.end(), 0);
  for (size_t r = world - 1; r > 0; --r)
    std::swap(name[r], name[static_cast<size_t>(c.random.below(static_cast<int64_t>(r) + 1))]);
  std::vector<int64_t> load(world);
  for (const size_t b : order) {
    const auto least = static_cast<size_t>(std::ranges::min_element(load) - load.begin());
    load[least] += lengths[b];
    owners[b] = name[least];
  }
  std::ranges::copy(ends, c.input<int32_t>("ends", 0).begin());
  std::ranges::copy(owners, c.input<int32_t>("owners", 0).begin());
}

// Sums in float, in any order: Sum bounds their error.
void expect(Case& c) {
  const auto ends = c.input<int32_t>("ends", 0), owners = c.input<int32_t>("owners", 0);
  std::vector<const float*> grad;
  std::vector<Output> out;
  for (int r = 0; r < c.world(); ++r) {
    grad.push_back(c.input<float>("grad", r).data());
    out.push_back(c.output("sum", r));
  }
  int64_t i = 0;
  for (size_t b = 0; b < ends.size(); ++b) {
    for (; i < ends[b]; ++i) {
      Sum sum;
      for (const float* values : grad) sum.add(values[i]);
      for (int r = 0; r < c.world(); ++r) {
        if (r == owners[b]) {
          out[static_cast<size_t>(r)].set(i, sum);
        } else {
          out[static_cast<size_t>(r)].ignore(i);
        }
      }
    }
  }
}

FABRICBENCH_ORACLE(expect, fill)
