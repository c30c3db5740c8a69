#include "campaign/report/ranking.h"

#include <algorithm>
#include <tuple>

namespace fb::report {

const Estimate& ranked_figure(const Summary& summary, const Model& model) {
  return summary.ranked_by == "pass_gm" ? model.scores.pass_gm : model.scores.pass_rate;
}

void rank(Summary& summary) {
  // Without speeds the product is known only for models that passed nothing.
  const bool speeds = std::ranges::all_of(summary.models, [](const Model& model) {
    return model.scores.samples_passed == 0 || model.scores.pass_gm.value.has_value();
  });
  summary.ranked_by = speeds ? "pass_gm" : "pass_rate";
  if (!speeds) summary.notes.emplace_back("Not every model's passes have a speed: models are ranked by pass rate.");

  const auto figure = [&](const Model& model) { return ranked_figure(summary, model).value.value_or(-1); };
  std::ranges::sort(summary.models, [&](const Model& a, const Model& b) {
    return std::tuple(-figure(a), -a.scores.pass_rate.value.value_or(-1), a.label) <
           std::tuple(-figure(b), -b.scores.pass_rate.value.value_or(-1), b.label);
  });

  const size_t count = summary.models.size();
  for (size_t k = 0; k < count; ++k) {
    Model& model = summary.models[k];
    const bool tie = k > 0 && figure(summary.models[k - 1]) - figure(model) < 1e-12;
    model.rank = tie ? summary.models[k - 1].rank : static_cast<uint32_t>(k + 1);
    uint32_t better = 0, worse = 0;
    for (size_t other = 0; other < count; ++other) {
      if (other == k) continue;
      if (overlap(ranked_figure(summary, model), ranked_figure(summary, summary.models[other]))) {
        model.not_separated.push_back(other);
      } else {
        ++(other < k ? better : worse);
      }
    }
    model.rank_from = better + 1;
    model.rank_to = static_cast<uint32_t>(count) - worse;
  }
}

}  // namespace fb::report
