#include "audit/calibrate/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace fb::calibrate {
namespace {

constexpr double kWidth = 360, kHeight = 230, kLeft = 46, kRight = 12, kTop = 12, kBottom = 34;

// A logarithmic axis from pixel `from` to pixel `to`.
class Axis {
 public:
  Axis(double least, double most, double from, double to) : from_(from), to_(to) {
    if (most <= least * 1.5) {
      least /= 1.5;
      most *= 1.5;
    }
    least_ = std::log(least / 1.15);
    most_ = std::log(most * 1.15);
  }
  double at(double value) const { return from_ + (std::log(value) - least_) / (most_ - least_) * (to_ - from_); }
  bool has(double value) const { return std::log(value) >= least_ && std::log(value) <= most_; }
  double decades() const { return (most_ - least_) / std::log(10.0); }

 private:
  double from_, to_, least_ = 0, most_ = 0;
};

std::string size_text(double size) {
  constexpr std::array kUnits = {"", "K", "M", "G"};
  size_t unit = 0;
  for (; size >= 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  return fmt::format("{:g}{}", size, kUnits[unit]);
}

std::string time_text(double microseconds) {
  return microseconds >= 1000 ? fmt::format("{:g} ms", microseconds / 1000) : fmt::format("{:g} us", microseconds);
}

}  // namespace

std::string plot_svg(const Curve& curve, const Modelled& modelled) {
  std::vector<double> sizes, times;
  for (const Point& point : curve.points) {
    sizes.push_back(static_cast<double>(point.size));
    times.push_back(point.microseconds);
  }
  times.insert(times.end(), modelled.microseconds.begin(), modelled.microseconds.end());
  const Axis x(std::ranges::min(sizes), std::ranges::max(sizes), kLeft, kWidth - kRight);
  const Axis y(std::ranges::min(times), std::ranges::max(times), kHeight - kBottom, kTop);

  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" width=\"100%\" font-size=\"10\" font-family=\"sans-serif\">", kWidth, kHeight);
  const auto out = std::back_inserter(svg);
  // Times at 1, 2 and 5 of each decade, or at 1 alone where there are many; sizes at powers of 2 or 16.
  for (double decade = 0.1; decade < 1e6; decade *= 10) {
    for (const double step : {1.0, 2.0, 5.0}) {
      const double value = decade * step;
      if (!y.has(value) || (step != 1 && y.decades() > 2.2)) continue;
      fmt::format_to(out,
                     "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#e3e7ec\"/>"
                     "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\" fill=\"#4a5563\">{5}</text>",
                     kLeft, kWidth - kRight, y.at(value), kLeft - 5, y.at(value) + 3, time_text(value));
    }
  }
  const int stride = x.decades() > 2.5 ? 4 : x.decades() > 1.3 ? 2 : 1;
  for (int power = 0; power < 40; power += stride) {
    const double value = std::pow(2.0, power);
    if (!x.has(value)) continue;
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" fill=\"#4a5563\">{}</text>", x.at(value),
                   kHeight - kBottom + 14, size_text(value));
  }
  std::string line;
  for (size_t k = 0; k < modelled.microseconds.size(); ++k) {
    line += fmt::format("{:.1f},{:.1f} ", x.at(sizes[k]), y.at(modelled.microseconds[k]));
  }
  fmt::format_to(out, "<polyline points=\"{}\" fill=\"none\" stroke=\"#c2410c\" stroke-width=\"1.6\"/>", line);
  for (size_t k = 0; k < modelled.microseconds.size(); ++k) {
    // Hollow: extrapolated.
    fmt::format_to(out, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\" stroke=\"#c2410c\" fill=\"{}\"/>",
                   x.at(sizes[k]), y.at(modelled.microseconds[k]), modelled.extrapolated[k] ? "#fff" : "#c2410c");
  }
  for (size_t k = 0; k < curve.points.size(); ++k) {
    fmt::format_to(out, "<path d=\"M{0:.1f} {1:.1f}h8m-4 -4v8\" stroke=\"#1d4ed8\" stroke-width=\"1.8\"/>",
                   x.at(sizes[k]) - 4, y.at(curve.points[k].microseconds));
  }
  fmt::format_to(out,
                 "<text x=\"{0}\" y=\"{1}\" fill=\"#1d4ed8\">+ measured</text>"
                 "<text x=\"{2}\" y=\"{1}\" fill=\"#c2410c\">● modelled (○ extrapolated)</text></svg>",
                 kLeft, kHeight - 4, kLeft + 70);
  return svg;
}

}  // namespace fb::calibrate
