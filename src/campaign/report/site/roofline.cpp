#include "campaign/report/site/roofline.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace fb::report::site {

void Roofline::add(std::string_view series, std::string_view kind, const ProblemCost* cost, double seconds) {
  if (cost == nullptr || cost->link_bytes <= 0 || cost->flops <= 0 || seconds <= 0) return;
  points_.push_back({.series = std::string(series),
                     .kind = std::string(kind),
                     .size = cost->size,
                     .intensity = cost->flops / cost->link_bytes,
                     .flops_per_second = cost->flops / seconds,
                     .seconds = seconds});
  on_tensor_cores_ |= cost->tensor_flops > 0;
}

void Roofline::set(const record::Peaks& peaks) {
  if (peaks.link_bytes_per_second > 0) peaks_ = peaks;
}

Html Roofline::figure() const {
  if (points_.empty() || peaks_.link_bytes_per_second <= 0) return {};
  auto points = nlohmann::ordered_json::array();
  for (const Point& p : points_) {
    points.push_back({{"series", p.series},
                      {"kind", p.kind},
                      {"size", p.size},
                      {"intensity", p.intensity},
                      {"rate", p.flops_per_second},
                      {"seconds", p.seconds}});
  }
  const nlohmann::ordered_json data = {{"link", peaks_.link_bytes_per_second},
                                       {"products", on_tensor_cores_ ? peaks_.tensor_flops_per_second : 0},
                                       {"points", std::move(points)}};
  return html(
      "<figure><figcaption>Roofline: operations per second over operations for each byte on a link</figcaption>"
      "<div class=\"plot\" data-plot=\"intensity\" role=\"img\" aria-label=\"Operations per second over arithmetic "
      "intensity, both on logarithmic scales, below the roofs of links{}\"></div></figure>\n{}",
      on_tensor_cores_ ? " and tensor cores" : "",
      Html::data("data-intensity", data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)));
}

const ProblemCost* cost_of(const Problem& problem, std::string_view size, int world) {
  const auto found =
      std::ranges::find_if(problem.cost, [&](const ProblemCost& c) { return c.size == size && c.world == world; });
  return found == problem.cost.end() ? nullptr : &*found;
}

}  // namespace fb::report::site
