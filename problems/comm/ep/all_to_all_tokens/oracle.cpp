#include <fabricbench/oracle.h>

#include <algorithm>
#include <vector>

using namespace fabricbench::oracle;

// Where `tokens` is a multiple of `world` each rank gets as many as it gives, in shares that are uneven by half, so
// that all calls move about equally much. Otherwise anything: some ranks get nothing from a rank, some all.
void fill(Case& c) {
  const int64_t tokens = c["tokens"], world = c.world();
  const auto split = [&](double least) {
    std::vector<double> weights(static_cast<size_t>(world));
    double all = 0;
    for (double& weight : weights) {
      weight = least == 0 && c.random.below(3) == 0 ? 0 : c.random.between(least, 1.5);
      all += weight;
    }
    if (all == 0) all = weights[static_cast<size_t>(c.random.below(world))] = 1;
    std::vector<int32_t> parts;
    double sum = 0;
    int64_t given = 0;
    for (const double weight : weights) {
      sum += weight;
      const auto upto =
          std::min(tokens, static_cast<int64_t>(std::floor(sum / all * static_cast<double>(tokens) + 0.5)));
      parts.push_back(static_cast<int32_t>(upto - given));
      given = upto;
    }
    parts.back() += static_cast<int32_t>(tokens - given);
    return parts;
  };
  const bool even = tokens % world == 0;
  const std::vector<int32_t> common = split(0.5);
  for (int r = 0; r < c.world(); ++r) {
    const std::vector<int32_t> parts = even ? common : split(0);
    const auto counts = c.input<int32_t>("counts", r);
    for (int64_t d = 0; d < world; ++d)
      counts[static_cast<size_t>(d)] = parts[static_cast<size_t>(even ? (d - r + world) % world : d)];
  }
}

void expect(Case& c) {
  const int64_t hidden = c["hidden"];
  for (int r = 0; r < c.world(); ++r) {
    Output received = c.output("received", r), out = c.output("out", r);
    int64_t at = 0;
    for (int s = 0; s < c.world(); ++s) {
      const auto counts = c.input<int32_t>("counts", s);
      const auto in = c.input<bf16>("in", s);
      int64_t first = 0;
      for (int d = 0; d < r; ++d) first += counts[static_cast<size_t>(d)];
      const int64_t count = counts[static_cast<size_t>(r)];
      received.set(s, static_cast<double>(count));
      for (int64_t i = first * hidden; i < (first + count) * hidden; ++i) out.set(at++, in[static_cast<size_t>(i)]);
    }
    while (at < out.size()) out.ignore(at++);
  }
}

FABRICBENCH_ORACLE(expect, fill)
