#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "campaign/report/site/sections.h"
#include "campaign/report/site/words.h"

namespace fb::report::site {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void put(Json& json, const char* name, const Estimate& estimate) {
  json[name] = estimate.value ? Json(*estimate.value) : Json(nullptr);
  json[std::string(name) + "_low"] = estimate.interval ? Json(estimate.interval->low) : Json(nullptr);
  json[std::string(name) + "_high"] = estimate.interval ? Json(estimate.interval->high) : Json(nullptr);
}

Html rounds(const Site& site) {
  Json data = Json::array();
  Html head, rows;
  size_t most = 0;
  for (const Model& model : site.summary->models) most = std::max(most, model.by_round.size());
  for (size_t i = 1; i <= most; ++i) head += html("<th scope=\"col\" class=\"num\">Round {}</th>", i);
  for (const Model& model : site.summary->models) {
    Html cells;
    for (const RoundScores& round : model.by_round) {
      Json row = {{"model", model.label}, {"round", round.round}, {"new_passes", round.new_passes}};
      put(row, "pass", round.pass_rate);
      put(row, "pass_gm", round.pass_gm);
      data.push_back(std::move(row));
      cells += html("<td class=\"num\">{}</td>", percent_cell(round.pass_rate));
    }
    rows += html("<tr><th scope=\"row\">{}</th>{}</tr>", model.label, cells);
  }
  return plot(
      site, "rounds", "Pass rate after each round of feedback", dump(data),
      html("<table><thead><tr><th scope=\"col\">Model</th>{}</tr></thead><tbody>{}</tbody></table>", head, rows));
}

Html cost(const Site& site) {
  Json data = Json::array();
  Html rows;
  size_t unknown = 0;
  for (const Model& model : site.summary->models) {
    const auto& price = model.price;
    rows += html(
        "<tr><th scope=\"row\">{}</th><td class=\"num\">{}{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>"
        "<td class=\"num\">{}</td></tr>",
        model.label, price.usd && price.without_price > 0 ? "≥ " : "",
        price.usd_per_problem ? usd_text(*price.usd_per_problem) : std::string(kNothing),
        price.usd_per_pass ? usd_text(*price.usd_per_pass) : std::string(kNothing),
        count_text(price.tokens.output_tokens), ratio_cell(model.scores.pass_gm));
    if (!price.usd_per_problem || !model.scores.pass_gm.value) {
      ++unknown;
      continue;
    }
    Json row = {{"model", model.label}, {"usd", *price.usd_per_problem}, {"output_tokens", price.tokens.output_tokens}};
    put(row, "pass_gm", model.scores.pass_gm);
    put(row, "pass", model.scores.pass_rate);
    data.push_back(std::move(row));
  }
  const Html table = html(
      "<table><thead><tr><th scope=\"col\">Model</th><th scope=\"col\" class=\"num\">$ per problem</th>"
      "<th scope=\"col\" class=\"num\">$ per pass</th><th scope=\"col\" class=\"num\">Output tokens</th>"
      "<th scope=\"col\" class=\"num\">Pass×GM</th></tr></thead><tbody>{}</tbody></table>",
      rows);
  Html out;
  if (data.empty()) {
    out = html(
        "<figure><figcaption>Price against score</figcaption><p class=\"muted\">No price is known for any model.</p>"
        "<div class=\"scroll\">{}</div></figure>\n",
        table);
  } else {
    out = plot(site, "cost", "Price against score", dump(data), table);
    if (unknown > 0)
      out += html("<p class=\"muted\">{} without a known price.</p>\n", plural(unknown, "model is", "models are"));
  }
  return out;
}

// Powers of two and the last k.
bool is_shown(const std::vector<PassAt>& all, size_t index) {
  constexpr size_t kFew = 6;
  return all.size() <= kFew || std::has_single_bit(all[index].k) || index + 1 == all.size();
}

// pass@k, for more than one sample.
Html pass_at(const Summary& summary) {
  const Model* widest = nullptr;
  for (const Model& model : summary.models) {
    if (widest == nullptr || model.pass_at.size() > widest->pass_at.size()) widest = &model;
  }
  if (widest == nullptr || widest->pass_at.size() < 2) return {};
  Html head, rows;
  for (size_t i = 0; i < widest->pass_at.size(); ++i) {
    if (is_shown(widest->pass_at, i))
      head += html("<th scope=\"col\" class=\"num\">pass@{}</th>", widest->pass_at[i].k);
  }
  for (const Model& model : summary.models) {
    Html cells;
    for (size_t i = 0; i < widest->pass_at.size(); ++i) {
      if (!is_shown(widest->pass_at, i)) continue;
      cells += html("<td class=\"num\">{}</td>",
                    percent_cell(i < model.pass_at.size() ? model.pass_at[i].rate : Estimate()));
    }
    rows += html("<tr><th scope=\"row\">{}</th>{}</tr>", model.label, cells);
  }
  return html(
      "<h3>With more than one sample</h3>\n<p class=\"muted\">pass@k: the chance that at least one of k samples "
      "passes; below it the 95% interval.</p>\n<div class=\"scroll\"><table><thead><tr>"
      "<th scope=\"col\">Model</th>{}</tr></thead><tbody>{}</tbody></table></div>\n",
      head, rows);
}

}  // namespace

Html rounds_and_cost(const Site& site) {
  return html(
      "<section id=\"rounds\"><h2>Feedback and price</h2>\n<div class=\"two\"><div>{}</div>"
      "<div>{}</div></div>\n{}</section>\n",
      rounds(site), cost(site), pass_at(*site.summary));
}

}  // namespace fb::report::site
