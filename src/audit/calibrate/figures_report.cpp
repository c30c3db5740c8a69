#include "audit/calibrate/figures_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace fb::calibrate {
namespace {

std::string_view name_of(CurveUse set) { return set == CurveUse::fit ? "fit" : "held_out"; }

nlohmann::json to_object(const Spread& s, size_t beyond) {
  return {{"figures", s.points}, {"median", s.median}, {"p90", s.p90}, {"max", s.max}, {"beyond_peak", beyond}};
}

}  // namespace

std::string to_text(const FigureReport& f) {
  size_t width = 0;
  for (const Figure& figure : f.figures.figures) width = std::max(width, figure.what.size());
  std::string text = fmt::format("{:<6} {:<{}} {:>8} {:>10} {:>10} {:<14} {:>8}\n", "id", f.platform, width, "set",
                                 "public", "modelled", "unit", "error");
  const auto out = std::back_inserter(text);
  for (size_t k = 0; k < f.modelled.size(); ++k) {
    const Figure& figure = f.figures.figures[k];
    fmt::format_to(
        out, "{:<6} {:<{}} {:>8} {:>10.5g} {:>10.5g} {:<14} {:>+7.1f}%{}\n", figure.id, figure.what, width,
        name_of(figure.set), figure.value, f.modelled[k], figure.unit, 100 * (f.modelled[k] / figure.value - 1),
        is_beyond_peak(figure, f.modelled[k]) ? fmt::format("  beyond the peak of {:.5g}", *figure.peak) : "");
  }
  const FigureSummary& s = f.summary;
  for (const auto& [name, spread, beyond] :
       {std::tuple("fit", s.fit, s.beyond_fit), std::tuple("held out", s.held_out, s.beyond_held_out)}) {
    fmt::format_to(out, "all {:>8}: {} figures, error {:.1f}% median, {:.1f}% p90, {:.1f}% max; {} beyond their peak\n",
                   name, spread.points, 100 * spread.median, 100 * spread.p90, 100 * spread.max, beyond);
  }
  return text;
}

std::string to_json(const FigureReport& f) {
  nlohmann::json json = {{"platform", f.platform},
                         {"fit", to_object(f.summary.fit, f.summary.beyond_fit)},
                         {"held_out", to_object(f.summary.held_out, f.summary.beyond_held_out)}};
  for (size_t k = 0; k < f.modelled.size(); ++k) {
    const Figure& figure = f.figures.figures[k];
    nlohmann::json one = {{"group", figure.group},
                          {"what", figure.what},
                          {"set", name_of(figure.set)},
                          {"unit", figure.unit},
                          {"public", figure.value},
                          {"modelled", f.modelled[k]},
                          {"error", f.modelled[k] / figure.value - 1},
                          {"beyond_peak", is_beyond_peak(figure, f.modelled[k])},
                          {"source", figure.source}};
    if (figure.peak) one["peak"] = *figure.peak;
    if (figure.clock) one["clock_mhz"] = *figure.clock;
    json["figures"][figure.id] = std::move(one);
  }
  return json.dump(2) + "\n";
}

}  // namespace fb::calibrate
