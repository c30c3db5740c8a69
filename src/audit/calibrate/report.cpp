#include "audit/calibrate/report.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "audit/calibrate/plot.h"

namespace fb::calibrate {
namespace {

std::string_view name_of(CurveUse split) { return split == CurveUse::fit ? "fit" : "held_out"; }

// In the order of the file, fit curves first.
std::vector<size_t> in_order(const Curves& curves) {
  std::vector<size_t> order;
  for (const CurveUse split : {CurveUse::fit, CurveUse::held_out}) {
    for (size_t c = 0; c < curves.curves.size(); ++c) {
      if (curves.curves[c].split == split) order.push_back(c);
    }
  }
  return order;
}

std::string pair_name(const CalibrationReport& f, size_t pair) {
  const Pair& p = f.curves.pairs[pair];
  return fmt::format("{} / {}", f.curves.curves[p.first].id, f.curves.curves[p.second].id);
}

nlohmann::json to_object(const Spread& s) {
  return {{"points", s.points}, {"median", s.median}, {"p90", s.p90}, {"max", s.max}};
}

}  // namespace

std::string to_text(const CalibrationReport& f) {
  std::string text = fmt::format("{:<28} {:>8}  {:>6} {:>6} {:>6}   modelled against measured, point by point\n",
                                 f.platform, "split", "median", "p90", "max");
  const auto out = std::back_inserter(text);
  for (const size_t c : in_order(f.curves)) {
    const Curve& curve = f.curves.curves[c];
    const auto errors = errors_of(curve, f.modelled[c]);
    const Spread s = spread_of(errors);
    fmt::format_to(out, "{:<28} {:>8}  {:>5.1f}% {:>5.1f}% {:>5.1f}%  ", curve.id, name_of(curve.split), 100 * s.median,
                   100 * s.p90, 100 * s.max);
    for (const double e : errors) fmt::format_to(out, " {:+.0f}", 100 * e);
    text += '\n';
  }
  for (const auto& [name, s] : {std::pair("fit", f.summary.fit), std::pair("held out", f.summary.held_out)}) {
    fmt::format_to(out, "{:<28} {:>8}  {:>5.1f}% {:>5.1f}% {:>5.1f}%   {} points\n", "all", name, 100 * s.median,
                   100 * s.p90, 100 * s.max, s.points);
  }
  fmt::format_to(out, "order: {} of {} right where the measured times differ by more than {:.0f} %\n",
                 count_right(f.orders), f.orders.size(), 100 * kClearGap);
  for (const Ordering& o : f.orders) {
    if (o.right()) continue;
    fmt::format_to(out, "  wrong: {} at {}: measured {:.2f}, modelled {:.2f}\n", pair_name(f, o.pair), o.size,
                   o.measured, o.modelled);
  }
  for (const Extrapolation& s : f.extrapolations) {
    fmt::format_to(out, "sampling: {} at {}: {:.1f} us simulated, {:.1f} us extrapolated ({:+.1f} %)\n",
                   f.curves.curves[s.curve].id, s.size, s.exact, s.extrapolated, 100 * (s.extrapolated / s.exact - 1));
  }
  return text;
}

std::string to_json(const CalibrationReport& f) {
  nlohmann::json json = {{"platform", f.platform},
                         {"fit", to_object(f.summary.fit)},
                         {"held_out", to_object(f.summary.held_out)},
                         {"order", {{"points", f.orders.size()}, {"right", count_right(f.orders)}}}};
  for (const size_t c : in_order(f.curves)) {
    const Curve& curve = f.curves.curves[c];
    nlohmann::json points = nlohmann::json::array();
    for (size_t k = 0; k < curve.points.size(); ++k) {
      points.push_back({{"size", curve.points[k].size},
                        {"measured_us", curve.points[k].microseconds},
                        {"modelled_us", f.modelled[c].microseconds[k]},
                        {"extrapolated", static_cast<bool>(f.modelled[c].extrapolated[k])}});
    }
    nlohmann::json one = to_object(spread_of(errors_of(curve, f.modelled[c])));
    one["split"] = name_of(curve.split);
    one["points"] = std::move(points);
    json["curves"][curve.id] = std::move(one);
  }
  for (const Ordering& o : f.orders) {
    json["order"]["compared"].push_back({{"pair", pair_name(f, o.pair)},
                                         {"size", o.size},
                                         {"measured_ratio", o.measured},
                                         {"modelled_ratio", o.modelled}});
  }
  for (const Extrapolation& s : f.extrapolations) {
    json["sampling"].push_back({{"curve", f.curves.curves[s.curve].id},
                                {"size", s.size},
                                {"simulated_us", s.exact},
                                {"extrapolated_us", s.extrapolated}});
  }
  return json.dump(2) + "\n";
}

std::string to_html(const CalibrationReport& f) {
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Calibration of {0}</title>\n"
      "<style>body{{font:15px/1.5 system-ui,sans-serif;max-width:1180px;margin:2em auto;padding:0 1em;color:#1d232b}}\n"
      "h1{{font-size:1.6em}}h2{{font-size:1.2em;margin-top:2em}}table{{border-collapse:collapse}}\n"
      "td,th{{padding:.25em .8em;border-bottom:1px solid "
      "#e3e7ec;text-align:right}}td:first-child,th:first-child{{text-align:left}}\n"
      ".plots{{display:grid;grid-template-columns:repeat(auto-fill,minmax(350px,1fr));gap:1.2em}}\n"
      "figure{{margin:0;border:1px solid "
      "#e3e7ec;border-radius:6px;padding:.6em}}figcaption{{font-size:.85em;color:#4a5563}}\n"
      "figcaption b{{color:#1d232b}}</style>\n<h1>Calibration of {0}</h1>\n"
      "<p>Times of the virtual node against published measurements. Constants of the platform were fitted to the "
      "curves "
      "marked <i>fit</i>; those marked <i>held out</i> only state the error.</p>\n"
      "<table><tr><th>curves</th><th>points</th><th>median</th><th>90th percentile</th><th>largest</th></tr>\n",
      f.platform);
  const auto out = std::back_inserter(text);
  for (const auto& [name, s] : {std::pair("fit", f.summary.fit), std::pair("held out", f.summary.held_out)}) {
    fmt::format_to(out, "<tr><td>{}</td><td>{}</td><td>{:.1f} %</td><td>{:.1f} %</td><td>{:.1f} %</td></tr>\n", name,
                   s.points, 100 * s.median, 100 * s.p90, 100 * s.max);
  }
  fmt::format_to(
      out,
      "</table>\n<p>Of two ways to do the same work the model names the faster one at {} of {} sizes at which "
      "the measured times differ by more than {:.0f} %.</p>\n",
      count_right(f.orders), f.orders.size(), 100 * kClearGap);
  for (const CurveUse split : {CurveUse::fit, CurveUse::held_out}) {
    fmt::format_to(out, "<h2>{}</h2>\n<div class=\"plots\">\n", split == CurveUse::fit ? "Fit" : "Held out");
    for (size_t c = 0; c < f.curves.curves.size(); ++c) {
      const Curve& curve = f.curves.curves[c];
      if (curve.split != split) continue;
      const Spread s = spread_of(errors_of(curve, f.modelled[c]));
      fmt::format_to(
          out,
          "<figure>{}<figcaption><b>{}</b>: {}. Error {:.0f} % (median), {:.0f} % (largest).</figcaption></figure>\n",
          plot_svg(curve, f.modelled[c]), curve.id, curve.about, 100 * s.median, 100 * s.max);
    }
    text += "</div>\n";
  }
  return text + "</html>\n";
}

}  // namespace fb::calibrate
