#include "audit/calibrate/errors.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace fb::calibrate {
namespace {

// Interpolates on logarithmic axes.
double at_size(const Curve& curve, const std::vector<double>& times, uint64_t size) {
  const auto& points = curve.points;
  const auto above = std::ranges::lower_bound(points, size, {}, &Point::size);
  const size_t k = static_cast<size_t>(above - points.begin());
  if (points[k].size == size) return times[k];
  const double share = std::log(static_cast<double>(size) / static_cast<double>(points[k - 1].size)) /
                       std::log(static_cast<double>(points[k].size) / static_cast<double>(points[k - 1].size));
  return times[k - 1] * std::pow(times[k] / times[k - 1], share);
}

std::vector<double> measured_of(const Curve& curve) {
  std::vector<double> times;
  for (const Point& point : curve.points) times.push_back(point.microseconds);
  return times;
}

// The smallest value that `share` of the values do not exceed.
double quantile(const std::vector<double>& sorted, double share) {
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace

Spread spread_of(std::vector<double> errors) {
  if (errors.empty()) return {};
  for (double& e : errors) e = std::abs(e);
  std::ranges::sort(errors);
  return {errors.size(), quantile(errors, 0.5), quantile(errors, 0.9), errors.back()};
}

std::vector<double> errors_of(const Curve& curve, const Modelled& modelled) {
  std::vector<double> errors;
  for (size_t k = 0; k < modelled.microseconds.size(); ++k) {
    errors.push_back(modelled.microseconds[k] / curve.points[k].microseconds - 1);
  }
  return errors;
}

Summary summarise(const Curves& curves, const std::vector<Modelled>& modelled) {
  std::vector<double> fit, held_out;
  for (size_t c = 0; c < curves.curves.size(); ++c) {
    auto& all = curves.curves[c].split == CurveUse::fit ? fit : held_out;
    const auto errors = errors_of(curves.curves[c], modelled[c]);
    all.insert(all.end(), errors.begin(), errors.end());
  }
  return {spread_of(std::move(fit)), spread_of(std::move(held_out))};
}

std::vector<Ordering> compare_orders(const Curves& curves, const std::vector<Modelled>& modelled) {
  std::vector<Ordering> orders;
  for (size_t p = 0; p < curves.pairs.size(); ++p) {
    const auto& [first, second] = curves.pairs[p];
    const Curve &a = curves.curves[first], &b = curves.curves[second];
    std::set<uint64_t> sizes;
    for (const Curve* curve : {&a, &b}) {
      for (const Point& point : curve->points) sizes.insert(point.size);
    }
    for (const uint64_t size : sizes) {
      if (size < std::max(a.points.front().size, b.points.front().size)) continue;
      if (size > std::min(a.points.back().size, b.points.back().size)) continue;
      const double measured = at_size(a, measured_of(a), size) / at_size(b, measured_of(b), size);
      if (std::max(measured, 1 / measured) <= 1 + kClearGap) continue;
      const double model =
          at_size(a, modelled[first].microseconds, size) / at_size(b, modelled[second].microseconds, size);
      orders.push_back({p, size, measured, model});
    }
  }
  return orders;
}

size_t count_right(const std::vector<Ordering>& orders) {
  return static_cast<size_t>(std::ranges::count_if(orders, &Ordering::right));
}

}  // namespace fb::calibrate
