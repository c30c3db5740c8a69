#include <algorithm>

#include "campaign/report/site/sections.h"
#include "campaign/report/site/words.h"

namespace fb::report::site {
namespace {

// The attempt that a cell links to: its best, or else the last one of its last sample.
std::string address_of(const Site& site, const Model& model, const Problem& problem, const Cell& cell) {
  const Sample* best = nullptr;
  for (const Sample& sample : cell.samples) {
    if (sample.best && (best == nullptr || sample.speed.value_or(0) > best->speed.value_or(0))) best = &sample;
  }
  const auto address = [&](const Sample& sample, size_t attempt) -> std::string {
    const auto index = static_cast<uint32_t>(attempt - sample.first);
    if (!site.has_page(sample, index)) return {};
    return attempt_address(model, problem, sample, site.attempt(sample, index).round);
  };
  if (best != nullptr) {
    if (std::string found = address(*best, *best->best); !found.empty()) return found;
  }
  for (auto sample = cell.samples.rbegin(); sample != cell.samples.rend(); ++sample) {
    if (sample->attempts == 0) continue;
    if (std::string found = address(*sample, sample->first + sample->attempts - 1); !found.empty()) return found;
  }
  return problem_address(problem) + "#" + model_anchor(model);
}

Html cell_of(const Site& site, const Model& model, const Problem& problem, const Cell& cell) {
  if (cell.samples.empty()) return html("<td class=\"h-none\" data-v=\"-2\"><span>{}</span></td>", kNothing);
  const std::string address = address_of(site, model, problem, cell);
  const OutcomeWords words = outcome_words(cell.outcome);
  const std::string where = fmt::format("{}, {}", model.label, problem.name);
  if (cell.passed == 0) {
    return html(
        "<td class=\"h-fail f-{}\" data-v=\"-1\"><a href=\"{}\" title=\"{}: {} of {} passed; at best: {}\">{} "
        "<span>{}</span></a></td>",
        words.name, address, where, cell.passed, cell.counted, words.label, words.sign, words.label);
  }
  const char* kind = cell.passed < cell.counted ? "h-part" : cell.good == cell.counted ? "h-good" : "h-pass";
  const double share = static_cast<double>(cell.passed) / std::max(1u, cell.counted);
  const std::string passed = cell.counted > 1 ? fmt::format("{}/{}", cell.passed, cell.counted) : "✓";
  const std::string speed = cell.speed ? ratio_text(*cell.speed) : "";
  // Sorted by the share that passes, then by speed.
  return html(
      "<td class=\"{}\" style=\"--v:{:.0f}%\" data-v=\"{:.6f}\"><a href=\"{}\" title=\"{}: {} of {} passed{}{}\">"
      "<b>{}</b> <span>{}{}</span></a></td>",
      kind, share * 100, share + cell.speed.value_or(0) * 1e-3, address, where, cell.passed, cell.counted,
      speed.empty() ? "" : ", speed ", speed, passed, speed, speed.empty() ? "" : "×");
}

}  // namespace

std::string model_anchor(const Model& model) { return "m-" + file_word(model.label); }

Html heat_map(const Site& site) {
  const Summary& summary = *site.summary;
  Html head = html("<th scope=\"col\"><button type=\"button\">Problem</button></th>");
  head += html("<th scope=\"col\" class=\"lv\"><button type=\"button\">Level</button></th>");
  for (const Model& model : summary.models) {
    head += html("<th scope=\"col\" class=\"model\"><button type=\"button\" title=\"{}\">{}</button></th>", model.label,
                 model.label);
  }
  Html rows;
  for (size_t p = 0; p < summary.problems.size(); ++p) {
    const Problem& problem = summary.problems[p];
    rows += html(
        "<tr data-name=\"{} {}\" data-level=\"{}\" data-category=\"{}\" data-library=\"{}\" data-track=\"{}\">"
        "<th scope=\"row\" data-v=\"{:05}\"><a href=\"{}\">{}</a><small>{}</small></th>"
        "<td class=\"lv\" data-v=\"{}\">{}</td>",
        problem.name, problem.title, problem.level, problem.category, problem.library, problem.track, p,
        problem_address(problem), breakable(problem.name), problem.category, problem.level,
        problem.level > 0 ? std::to_string(problem.level) : std::string(kNothing));
    for (const Model& model : summary.models) rows += cell_of(site, model, problem, model.cells[p]);
    rows += html("</tr>\n");
  }
  const Html legend = html(
      "<li><span class=\"key h-good\">✓</span>all samples pass, good speed</li><li>"
      "<span class=\"key h-pass\">✓</span>all pass</li><li><span class=\"key h-part\">✓</span>some pass</li><li>"
      "<span class=\"key h-fail\">×</span>none passes: the best outcome</li>");
  return html(
      "<section id=\"problems\"><div class=\"head\"><h2>Models and problems</h2>\n"
      "<form class=\"filters\" role=\"search\"><label><span>Problems</span>"
      "<input type=\"search\" id=\"find-problem\" placeholder=\"Filter by name\" "
      "autocomplete=\"off\"></label></form></div>\n"
      "<ul class=\"legend\">{}</ul>\n<div class=\"scroll\"><table class=\"heat sortable\" id=\"heat\"><thead>"
      "<tr>{}</tr></thead><tbody>\n{}</tbody></table></div>\n<p class=\"muted\">Samples that passed, and their "
      "speed relative to the reference. A cell links to its best attempt, a problem to its page.</p></section>\n",
      legend, head, rows);
}

}  // namespace fb::report::site
