#pragma once

// Errors of modelled against measured times, and whether the order of two ways is right.

#include <string>
#include <vector>

#include "audit/calibrate/curves.h"
#include "audit/calibrate/model.h"

namespace fb::calibrate {

// Of relative errors, |modelled - measured| / measured.
struct Spread {
  size_t points = 0;
  double median = 0, p90 = 0, max = 0;
};
Spread spread_of(std::vector<double> errors);

// Signed, by point.
std::vector<double> errors_of(const Curve& curve, const Modelled& modelled);

struct Summary {
  Spread fit, held_out;
};
Summary summarise(const Curves& curves, const std::vector<Modelled>& modelled);

// One size at which the measured times of two ways differ clearly.
struct Ordering {
  size_t pair = 0;
  uint64_t size = 0;
  double measured = 0, modelled = 0;  // time of the first / time of the second
  bool right() const { return (measured < 1) == (modelled < 1); }
};
// Smaller differences are not compared.
inline constexpr double kClearGap = 0.15;
// At the sizes of either curve within the range of the other; times are interpolated on logarithmic axes.
std::vector<Ordering> compare_orders(const Curves& curves, const std::vector<Modelled>& modelled);
size_t count_right(const std::vector<Ordering>& orders);

}  // namespace fb::calibrate
