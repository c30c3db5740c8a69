#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;
using optimizer::kFloat;
using optimizer::Near;

constexpr int64_t kCompared = 32;  // hidden units, where there are more

struct Layout {
  int64_t features, hidden, outputs, w1 = 0, b1, w2, b2, all;
  explicit Layout(const Case& c)
      : features(c["features"]),
        hidden(c["hidden"]),
        outputs(c["outputs"]),
        b1(hidden * features),
        w2(b1 + hidden),
        b2(w2 + outputs * hidden),
        all(b2 + outputs) {}
};

// A power of two next to 2 / sqrt(inputs): layers keep the size of numbers.
static float gain(int64_t inputs) {
  return static_cast<float>(std::exp2(std::round(std::log2(2 / std::sqrt(static_cast<double>(inputs))))));
}

// Moments are around 1/32, as gradients of the real sizes are. Half of the calls are early steps, where the corrections
// count.
void fill(Case& c) {
  const Layout at(c);
  const auto params = c.input<float>("params", 0), m = c.input<float>("m", 0), v = c.input<float>("v", 0);
  for (int64_t i = 0; i < at.all; ++i) {
    const auto k = static_cast<size_t>(i);
    const auto root = static_cast<float>(c.random.between(0.25, 1.25)) * 0x1p-5F;
    m[k] *= 0x1p-5F;
    v[k] = root * root;
    if (i < at.b1) {
      params[k] *= gain(at.features);
    } else if (i < at.w2) {
      params[k] *= 0x1p-2F;
    } else if (i < at.b2) {
      params[k] *= gain(at.hidden);
    }
  }
  c.input<int32_t>("step", 0)[0] = static_cast<int32_t>(1 + c.random.below(c.random.below(2) == 0 ? 8 : 5000));
  c.input<float>("lr", 0)[0] = static_cast<float>(c.random.between(0x1p-10, 0x1p-7));
}

// A sum of products that may be off, in f32 and any order: each term takes part in at most as many roundings as there
// are terms, and one more.
class Dot {
 public:
  void add(Near a, Near b) {
    const double term = a.value * b.value;
    value_ += term;
    magnitude_ += std::fabs(term);
    off_ += a.error * (std::fabs(b.value) + b.error) + std::fabs(a.value) * b.error;
    ++terms_;
  }
  Near sum() const {
    const double all = static_cast<double>(terms_ + 1) * kFloat;
    return {value_, off_ + all / (1 - all) * (magnitude_ + off_)};
  }

 private:
  double value_ = 0, magnitude_ = 0, off_ = 0;
  int64_t terms_ = 0;
};

// Errors are followed through both layers. relu does not make them larger. Where an argument is so near to 0 that its
// sign is not sure, the gradient that goes back through it may be there or not.
void expect(Case& c) {
  const Layout at(c);
  const int64_t batch = c["batch"], all = batch * c.world();
  const auto params = c.input<float>("params", 0), m = c.input<float>("m", 0), v = c.input<float>("v", 0);
  const auto exact = [&](int64_t i) { return Near{params[static_cast<size_t>(i)], 0}; };

  std::vector<int64_t> units;  // that are compared
  for (int64_t h = 0; h < at.hidden; ++h) {
    if (c.random.below(at.hidden - h) < std::min(kCompared, at.hidden) - static_cast<int64_t>(units.size()))
      units.push_back(h);
  }
  const int64_t count = static_cast<int64_t>(units.size());

  std::vector<double> w1(static_cast<size_t>(at.hidden * at.features));
  for (size_t i = 0; i < w1.size(); ++i) w1[i] = params[i];
  std::vector<Dot> g_w1(static_cast<size_t>(count * at.features)), g_b1(units.size());
  std::vector<Dot> g_w2(static_cast<size_t>(count * at.outputs)), g_b2(static_cast<size_t>(at.outputs));
  std::vector<Near> before(static_cast<size_t>(at.hidden)), active(before.size());
  std::vector<Near> apart(static_cast<size_t>(at.outputs));
  std::vector<double> sample(static_cast<size_t>(at.features));
  const double depth = static_cast<double>(at.features + 2) * kFloat;
  const Near one = {1, 0};
  for (int64_t t = 0; t < all; ++t) {
    const float* x = &c.input<float>("x", static_cast<int>(t / batch))[static_cast<size_t>(t % batch * at.features)];
    const float* target =
        &c.input<float>("target", static_cast<int>(t / batch))[static_cast<size_t>(t % batch * at.outputs)];
    std::copy(x, x + at.features, sample.begin());
    for (int64_t h = 0; h < at.hidden; ++h) {
      const double* row = &w1[static_cast<size_t>(h * at.features)];
      double sum = exact(at.b1 + h).value, size = std::fabs(sum);
      for (int64_t k = 0; k < at.features; ++k) {
        const double term = sample[static_cast<size_t>(k)] * row[k];
        sum += term;
        size += std::fabs(term);
      }
      const Near argument = {sum, depth / (1 - depth) * size};
      before[static_cast<size_t>(h)] = argument;
      active[static_cast<size_t>(h)] = {std::fmax(sum, 0), sum < -argument.error ? 0 : argument.error};
    }
    for (int64_t j = 0; j < at.outputs; ++j) {
      Dot y;
      y.add(one, exact(at.b2 + j));
      for (int64_t h = 0; h < at.hidden; ++h) y.add(active[static_cast<size_t>(h)], exact(at.w2 + j * at.hidden + h));
      const Near out = y.sum();
      const double error = (out.value - target[j]) / static_cast<double>(batch);
      const double off = out.error / static_cast<double>(batch);
      const Near e = {error, off + 4 * kFloat * (std::fabs(error) + off)};
      apart[static_cast<size_t>(j)] = e;
      g_b2[static_cast<size_t>(j)].add(e, one);
      for (int64_t u = 0; u < count; ++u)
        g_w2[static_cast<size_t>(j * count + u)].add(e, active[static_cast<size_t>(units[static_cast<size_t>(u)])]);
    }
    for (int64_t u = 0; u < count; ++u) {
      const int64_t h = units[static_cast<size_t>(u)];
      const Near& argument = before[static_cast<size_t>(h)];
      Near back;
      if (argument.value > -argument.error) {
        Dot dot;
        for (int64_t j = 0; j < at.outputs; ++j)
          dot.add(apart[static_cast<size_t>(j)], exact(at.w2 + j * at.hidden + h));
        back = dot.sum();
        if (argument.value <= argument.error) back.error += std::fabs(back.value);
        if (argument.value <= 0) back.value = 0;
      }
      g_b1[static_cast<size_t>(u)].add(back, one);
      for (int64_t k = 0; k < at.features; ++k)
        g_w1[static_cast<size_t>(u * at.features + k)].add(back, {sample[static_cast<size_t>(k)], 0});
    }
  }

  const optimizer::Step step(c.input<int32_t>("step", 0)[0], c.input<float>("lr", 0)[0]);
  Output params_out = c.output("params_out"), m_out = c.output("m_out"), v_out = c.output("v_out");
  if (count < at.hidden) {
    for (int64_t i = 0; i < at.b2; ++i) {
      params_out.ignore(i);
      m_out.ignore(i);
      v_out.ignore(i);
    }
  }
  // The sum over ranks is part of the sum over samples: Dot has a rounding for each sample. The mean has 2 more.
  const auto set = [&](int64_t i, const Dot& gradient) {
    const double world = c.world();
    Near g = gradient.sum();
    g.error += 2 * kFloat * (std::fabs(g.value) + g.error);
    const auto k = static_cast<size_t>(i);
    const auto to = optimizer::adam(step, {g.value / world, g.error / world}, m[k], v[k], params[k]);
    params_out.set(i, to.w.value, to.w.error);
    m_out.set(i, to.m.value, to.m.error);
    v_out.set(i, to.v.value, to.v.error);
  };
  for (int64_t u = 0; u < count; ++u) {
    const int64_t h = units[static_cast<size_t>(u)];
    for (int64_t k = 0; k < at.features; ++k) set(h * at.features + k, g_w1[static_cast<size_t>(u * at.features + k)]);
    set(at.b1 + h, g_b1[static_cast<size_t>(u)]);
    for (int64_t j = 0; j < at.outputs; ++j) set(at.w2 + j * at.hidden + h, g_w2[static_cast<size_t>(j * count + u)]);
  }
  for (int64_t j = 0; j < at.outputs; ++j) set(at.b2 + j, g_b2[static_cast<size_t>(j)]);
}

FABRICBENCH_ORACLE(expect, fill)
