#include <algorithm>

#include "campaign/report/site/sections.h"
#include "campaign/report/site/words.h"

namespace fb::report::site {
namespace {

using Groups = std::vector<Group> Model::*;

// One group of problems: a row for each model.
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

// Where all problems are of one kind there is nothing to compare.
Html section(const Summary& summary, std::string_view title, Groups groups, std::string_view word = "") {
  if ((summary.models.front().*groups).size() < 2) return {};
  return html("<h3>{}</h3>\n{}", title, cards(summary, groups, word));
}

}  // namespace

Html breakdowns(const Site& site) {
  const Summary& summary = *site.summary;
  if (summary.models.empty()) return {};
  Html out = section(summary, "By level", &Model::by_level, "Level ");
  out += section(summary, "By track", &Model::by_track);
  out += section(summary, "By category", &Model::by_category);
  out += section(summary, "By library", &Model::by_library);
  out += section(summary, "By parallelism", &Model::by_parallelism);
  if (out.empty()) return {};
  return html(
      "<section id=\"breakdowns\"><h2>Pass rate by kind of problem</h2>\n"
      "<p class=\"muted\">The mark is the share of samples that pass, the bar its 95% interval.</p>\n{}</section>\n",
      out);
}

}  // namespace fb::report::site
