#include <algorithm>

#include "campaign/report/site/sections.h"
#include "campaign/report/site/words.h"

namespace fb::report::site {
namespace {

struct Segment {
  std::string name, label, sign;
  uint32_t samples = 0;
};

uint32_t tier_samples(const Model& model, std::string_view name) {
  const auto found = std::ranges::find(model.tiers, name, &Tier::name);
  return found == model.tiers.end() ? 0 : found->samples;
}

// From best to worst, without those that never count.
std::vector<Segment> segments_of(const Model& model) {
  std::vector<Segment> segments = {
      {"good", "Passed, good speed", "✓", tier_samples(model, "better") + tier_samples(model, "on_par")},
      {"slow", "Passed, slow", "✓", tier_samples(model, "degraded") + tier_samples(model, "severely_degraded")},
      {"untimed", "Passed, speed not measured", "✓", tier_samples(model, "unscored")},
  };
  for (const OutcomeCount& count : model.outcomes) {
    const record::Outcome* const known = record::outcome_named(count.outcome);
    if (count.outcome == "pass" || !known || !known->counts) continue;
    const OutcomeWords words = outcome_words(count.outcome);
    segments.push_back({std::string(words.name), std::string(words.label), std::string(words.sign), count.samples});
  }
  return segments;
}

}  // namespace

Html outcome_bars(const Site& site) {
  Html rows, legend, table_head, table;
  std::vector<Segment> all;
  for (const Model& model : site.summary->models) {
    const auto segments = segments_of(model);
    if (all.empty()) all.resize(segments.size());
    uint32_t total = 0;
    for (size_t i = 0; i < segments.size(); ++i) {
      total += segments[i].samples;
      const uint32_t before = all[i].samples;
      all[i] = segments[i];
      all[i].samples += before;
    }
    Html bar;
    for (const Segment& segment : segments) {
      if (segment.samples == 0) continue;
      bar += html("<span class=\"seg o-{}\" style=\"flex-grow:{}\" title=\"{}: {} of {}\"><b>{}</b></span>",
                  segment.name, segment.samples, segment.label, segment.samples, total, segment.samples);
    }
    if (total == 0) bar = html("<span class=\"seg none\">no sample counts yet</span>");
    rows += html(
        "<div class=\"bar-row\" data-name=\"{}\"><span class=\"name\">{}</span><div class=\"bar\">{}</div></div>\n",
        model.label, model.label, bar);
  }
  for (const Segment& segment : all) {
    if (segment.samples == 0) continue;
    legend += html("<li><span class=\"key o-{}\">{}</span>{}</li>", segment.name, segment.sign, segment.label);
  }
  return html(
      "<section id=\"outcomes\"><h2>Outcomes of samples</h2>\n<p class=\"muted\">A sample is one independent try with "
      "all its rounds. It passes if one of its rounds passes; otherwise its last round decides.</p>\n"
      "<div class=\"bars\">{}</div>\n<ul class=\"legend\">{}</ul></section>\n",
      rows, legend);
}

}  // namespace fb::report::site
