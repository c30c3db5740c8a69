#include <fabricbench/oracle.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "../mathematics.h"

using namespace fabricbench::oracle;

// A text is its image with as much noise: their product is about 0.7, and those of others are around 0. Embeddings have
// length 1. Temperature and bias are such that terms of others count: about 0.1 each.
void fill(Case& c) {
  const auto dim = static_cast<size_t>(c["dim"]);
  const double temperature = std::exp2(c.random.between(4, 6)), bias = c.random.between(-6, -2);
  for (int r = 0; r < c.world(); ++r) {
    const auto image = c.input<bf16>("image", r), text = c.input<bf16>("text", r);
    for (size_t i = 0; i < text.size(); ++i) text[i] = bf16(static_cast<float>(text[i]) + static_cast<float>(image[i]));
    for (const auto& rows : {image, text}) {
      for (size_t first = 0; first < rows.size(); first += dim) {
        const std::span<bf16> row = rows.subspan(first, dim);
        double squares = 0x1p-40;
        for (const bf16 value : row) squares += static_cast<double>(value) * static_cast<double>(value);
        for (bf16& value : row) value = bf16(static_cast<float>(value / std::sqrt(squares)));
      }
    }
    c.input<float>("learned", r)[0] = static_cast<float>(temperature);
    c.input<float>("learned", r)[1] = static_cast<float>(bias);
  }
}

// - A product of embeddings is a sum in float; tensor cores cut off, 2 units for each addition. By Cauchy and Schwarz
// it
//   is off by 2 dim u |image| |text|.
// - The logit is a product and a sum: 2 u of each part more.
// - softplus has a slope of at most 1. Computed as max(x, 0) + log(1 + exp(-|x|)) with __expf and __logf, it is off by
//   2^-20 and 4 units of itself: __logf is off by 2^-21.4 for arguments around 1, exp(-|x|) by (|x| + 2) 2^-22 of
//   itself, which is at most 2^-21 for all x, and both are rounded.
// - Terms are added in float, in any order.
void expect(Case& c) {
  const int64_t batch = c["batch"], dim = c["dim"];
  const double unit = unit_roundoff(DType::f32);
  const double temperature = c.input<float>("learned", 0)[0], bias = c.input<float>("learned", 0)[1];
  const auto all = [&](const char* name) {
    std::vector<double> numbers;
    for (int r = 0; r < c.world(); ++r) {
      for (const bf16 value : c.input<bf16>(name, r)) numbers.push_back(static_cast<double>(value));
    }
    return numbers;
  };
  const std::vector<double> images = all("image"), texts = all("text");
  const int64_t vectors = dim / attention::kLanes, pairs = batch * c.world();
  std::vector<double> lengths;
  for (int64_t j = 0; j < pairs; ++j)
    lengths.push_back(std::sqrt(attention::dot(vectors, &texts[j * dim], &texts[j * dim])));
  for (int64_t i = 0; i < pairs; ++i) {
    const double* image = &images[i * dim];
    const double length = std::sqrt(attention::dot(vectors, image, image));
    double sum = 0, error = 0;
    for (int64_t j = 0; j < pairs; ++j) {
      const double product = attention::dot(vectors, image, &texts[j * dim]);
      const double logit = temperature * product + bias, x = i == j ? -logit : logit;
      const double term = std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
      sum += term;
      error += temperature * 2 * static_cast<double>(dim) * unit * length * lengths[j];
      error += 2 * unit * (std::fabs(temperature * product) + std::fabs(bias)) + 0x1p-20 + 4 * unit * term;
    }
    c.output("loss", static_cast<int>(i / batch))
        .set(i % batch, sum, error + static_cast<double>(pairs) * unit * (sum + error));
  }
}

FABRICBENCH_ORACLE(expect, fill)
