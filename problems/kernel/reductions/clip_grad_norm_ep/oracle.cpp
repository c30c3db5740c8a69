#include <fabricbench/oracle.h>

#include <cmath>
#include <span>

using namespace fabricbench::oracle;

constexpr double kEpsilon = 1e-6;
constexpr double kFloat = unit_roundoff(DType::f32);

static double squares_of(std::span<const bf16> gradients) {
  double sum = 0;
  for (const double value : gradients) sum += value * value;
  return sum;
}

// All shards, and the experts of the first group, divided by ep.
static double squares_of_all(Case& c) {
  const auto ep = static_cast<int>(c["ep"]);
  double dense = 0, experts = 0;
  for (int r = 0; r < c.world(); ++r) dense += squares_of(c.input<bf16>("dense_grad", r));
  for (int e = 0; e < ep; ++e) experts += squares_of(c.input<bf16>("expert_grad", e));
  return dense + experts / (ep * ep);
}

static void multiply(std::span<bf16> gradients, double factor) {
  for (bf16& value : gradients) value = bf16(static_cast<float>(static_cast<double>(value) * factor));
}

// Half of the calls clip. In a quarter of them gradients are so small that epsilon counts where they are few. Ranks'
// gradients differ in size, so that a group taken for another one has another norm; replicas have the same experts.
void fill(Case& c) {
  const auto ep = static_cast<int>(c["ep"]);
  const double size = c.random.below(4) == 0 ? 0x1p-20 : 1;
  for (int r = 0; r < c.world(); ++r) {
    multiply(c.input<bf16>("dense_grad", r), size * std::exp2(c.random.between(-2, 2)));
    const auto experts = c.input<bf16>("expert_grad", r);
    if (r < ep) {
      multiply(experts, size * ep * std::exp2(c.random.between(-2, 2)));
    } else {
      const auto from = c.input<bf16>("expert_grad", r % ep);
      for (size_t j = 0; j < experts.size(); ++j) experts[j] = from[j];
    }
  }
  const double norm = std::sqrt(squares_of_all(c));
  const double share = c.random.below(2) == 0 ? c.random.between(0.1, 0.9) : c.random.between(1.2, 4);
  c.input<float>("max_norm", 0)[0] = static_cast<float>(norm * share);
}

// A square is rounded once and takes part in at most 4,096 additions (the statement says so), or in as many as there
// are terms; all are positive, and factors are powers of two. sqrtf is right to a unit in the last place: two
// roundings.
//
// The coefficient has 10 roundings of its own: 2 of the root, 1 of the constant, 1 of the sum with it, 4 of a division
// that is right to 2 units in the last place, 1 of the product, and 1 for what they make together. It falls as the norm
// grows. Where it is 1 at both ends, gradients are exact. Output::set adds the rounding to bf16.
void expect(Case& c) {
  const auto ep = static_cast<int>(c["ep"]);
  const auto terms = static_cast<double>((c["dense"] + c["expert"]) * c.world());
  const double squares = squares_of_all(c), error = (std::fmin(terms, 4096) + 1) * kFloat * squares;
  const double norm = std::sqrt(squares), most = std::sqrt(squares + error) * (1 + 2 * kFloat),
               least = std::sqrt(squares - error) * (1 - 2 * kFloat);
  c.output("norm").set(0, norm, std::fmax(most - norm, norm - least));

  const double limit = c.input<float>("max_norm", 0)[0];
  const double factor = std::fmin(1, limit / (norm + kEpsilon));
  const double highest = std::fmin(1, limit / (least + kEpsilon) * (1 + 10 * kFloat)),
               lowest = std::fmin(1, limit / (most + kEpsilon) * (1 - 10 * kFloat));
  const double apart = std::fmax(highest - factor, factor - lowest);
  const auto clip = [&](Output out, std::span<const bf16> gradients, double divisor) {
    for (size_t j = 0; j < gradients.size(); ++j) {
      const double value = gradients[j] / divisor;
      if (lowest == 1) {
        out.set(static_cast<int64_t>(j), value);
      } else {
        out.set(static_cast<int64_t>(j), value * factor, std::fabs(value) * apart);
      }
    }
  };
  for (int r = 0; r < c.world(); ++r) {
    clip(c.output("dense_clipped", r), c.input<bf16>("dense_grad", r), 1);
    clip(c.output("expert_clipped", r), c.input<bf16>("expert_grad", r), ep);
  }
}

FABRICBENCH_ORACLE(expect, fill)
