#pragma once

// Parts common to all pages.

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "campaign/report/site/html.h"
#include "campaign/report/site/site.h"
#include "campaign/report/summary.h"
#include "common/record/campaign.h"

namespace fb::report::site {

// The input of all pages.
struct Site {
  const Summary* summary = nullptr;
  std::span<const record::Run> runs = {};
  std::string title = {};
  bool has_bundles = false;                        // plots.js and code.js
  size_t attempt_pages = 0;                        // the limit if it was reached; else 0
  std::set<std::pair<size_t, size_t>> paged = {};  // {run, attempt} that have a page

  const record::Attempt& attempt(const Sample& sample, uint32_t index) const {
    return runs[sample.run].attempts[sample.first + index];
  }
  bool has_page(const Sample& sample, uint32_t index) const {
    return paged.contains({sample.run, sample.first + index});
  }
};

// Addresses relative to the site's folder.
std::string problem_address(const Problem& problem);
std::string attempt_address(const Model& model, const Problem& problem, const Sample& sample, uint32_t round);

struct Page {
  std::string title = {};
  std::string root = {};  // relative path of the site's folder: "" or "../"…
  bool wants_plots = false, wants_code = false;
  std::vector<std::pair<std::string, std::string>> trail = {};  // names and addresses of the pages above
  Html body = {};
};
std::string render(const Site& site, const Page& page);

// A name with a possible line break after each "_".
Html breakable(std::string_view name);

// ✓ Pass, in its colour.
Html outcome_badge(std::string_view outcome);
// A square in the outcome's colour; a link if the attempt has a page.
Html attempt_chip(const Site& site, const std::string& root, const Model& model, const Problem& problem,
                  const Sample& sample, uint32_t index);

// A plot, or its table where the bundle is missing. `kind` is a function of charts.js, `json` its data; `table` holds
// the same figures.
Html plot(const Site& site, std::string_view kind, std::string_view title, std::string_view json, const Html& table);

// A figure's value, with its interval below.
Html percent_cell(const Estimate& estimate);
Html ratio_cell(const Estimate& estimate);

// A figure's value and its interval on a line from 0 to `most`.
Html interval_bar(const Estimate& estimate, double most);

}  // namespace fb::report::site
