#include <algorithm>
#include <cmath>
#include <numbers>

#include "report/site/sections.h"
#include "report/site/words.h"

namespace fb::report::site {
namespace {

using Groups = std::vector<Group> Model::*;

// One group: all models under each other.
Html group_card(const Summary& summary, Groups groups, size_t index, std::string_view title) {
  Html rows;
  uint32_t problems = 0;
  for (const Model& model : summary.models) {
    const Scores& scores = (model.*groups)[index].scores;
    problems = std::max(problems, scores.problems);
    rows +=
        html("<tr data-name=\"{}\"><th scope=\"row\">{}</th><td>{}</td><td class=\"num\" title=\"{}\">{}</td></tr>\n",
             model.label, model.label, interval_bar(scores.pass_rate, 1), percent_interval(scores.pass_rate),
             scores.pass_rate.value ? percent_text(*scores.pass_rate.value) : std::string(kNothing));
  }
  return html("<div class=\"card\"><h4>{}<small>{}</small></h4><table class=\"mini\"><tbody>{}</tbody></table></div>\n",
              title, plural(problems, "problem", "problems"), rows);
}

Html cards(const Summary& summary, Groups groups, std::string_view word) {
  Html out;
  const auto& all = summary.models.front().*groups;
  for (size_t i = 0; i < all.size(); ++i) out += group_card(summary, groups, i, fmt::format("{}{}", word, all[i].name));
  return html("<div class=\"cards\">{}</div>\n", out);
}

struct Point {
  double x = 0, y = 0;
};

// Pass rates of libraries as a polygon for each model. Wants three of them at least.
Html radar(const Summary& summary) {
  constexpr double kSize = 360, kMiddle = kSize / 2, kRadius = 118;
  constexpr size_t kMostModels = 8;
  const auto& libraries = summary.models.front().by_library;
  const auto point = [&](size_t i, double share) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(libraries.size());
    return Point{kMiddle + kRadius * share * std::sin(angle), kMiddle - kRadius * share * std::cos(angle)};
  };
  const auto polygon = [&](const auto& share_of) {
    std::string points;
    for (size_t i = 0; i < libraries.size(); ++i) {
      const auto [x, y] = point(i, share_of(i));
      points += fmt::format("{:.1f},{:.1f} ", x, y);
    }
    return points;
  };
  Html shapes, legend;
  for (const double ring : {0.25, 0.5, 0.75, 1.0}) {
    shapes += html("<polygon class=\"ring\" points=\"{}\"/>", polygon([&](size_t) { return ring; }));
  }
  for (size_t i = 0; i < libraries.size(); ++i) {
    const auto [x, y] = point(i, 1);
    const auto [text_x, text_y] = point(i, 1.17);
    shapes +=
        html("<line class=\"ring\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>", kMiddle, kMiddle, x, y);
    shapes += html("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", text_x, text_y + 4, libraries[i].name);
  }
  for (size_t m = 0; m < std::min(summary.models.size(), kMostModels); ++m) {
    const Model& model = summary.models[m];
    shapes +=
        html("<polygon class=\"shape\" style=\"--c:var(--m{})\" points=\"{}\"><title>{}</title></polygon>", m + 1,
             polygon([&](size_t i) { return model.by_library[i].scores.pass_rate.value.value_or(0); }), model.label);
    legend += html("<li><span class=\"key\" style=\"background:var(--m{})\"></span>{}</li>", m + 1, model.label);
  }
  return html(
      "<div class=\"radar\"><svg viewBox=\"0 0 {0} {0}\" role=\"img\" aria-label=\"Pass rate by library\">{1}</svg>"
      "<ul class=\"legend\">{2}</ul></div>\n",
      kSize, shapes, legend);
}

}  // namespace

Html breakdowns(const Site& site) {
  const Summary& summary = *site.summary;
  if (summary.models.empty()) return {};
  constexpr size_t kRadarNeeds = 3;
  Html out = html("<h3>By level</h3>\n{}<h3>By category</h3>\n{}", cards(summary, &Model::by_level, "Level "),
                  cards(summary, &Model::by_category, ""));
  out += html("<h3>By library</h3>\n");
  if (summary.models.front().by_library.size() >= kRadarNeeds) out += radar(summary);
  out += cards(summary, &Model::by_library, "");
  return html(
      "<section id=\"breakdowns\"><h2>Pass rate by kind of problem</h2>\n"
      "<p class=\"muted\">The mark is the share of samples that pass, the line its 95% interval.</p>\n{}</section>\n",
      out);
}

}  // namespace fb::report::site
