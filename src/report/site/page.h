#pragma once

// What all pages share.

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/campaign.h"
#include "report/site/html.h"
#include "report/site/site.h"
#include "report/summary.h"

namespace fb::report::site {

// What a page may look at.
struct Site {
  const Summary* summary = nullptr;
  std::span<const record::Run> runs = {};
  std::string title = {};
  bool has_bundles = false;                        // plots.js and code.js
  size_t attempt_pages = 0;                        // the limit, where it left something out; else 0
  std::set<std::pair<size_t, size_t>> paged = {};  // {run, attempt} that have a page

  const record::Attempt& attempt(const Sample& sample, uint32_t index) const {
    return runs[sample.run].attempts[sample.first + index];
  }
  bool has_page(const Sample& sample, uint32_t index) const {
    return paged.contains({sample.run, sample.first + index});
  }
};

// Addresses from the site's folder on.
std::string problem_address(const Problem& problem);
std::string attempt_address(const Model& model, const Problem& problem, const Sample& sample, uint32_t round);

struct Page {
  std::string title = {};
  std::string root = {};  // the way to the site's folder: "" or "../"…
  bool wants_plots = false, wants_code = false;
  std::vector<std::pair<std::string, std::string>> trail = {};  // names and addresses of the pages above
  Html body = {};
};
std::string render(const Site& site, const Page& page);

// A name that may be broken behind each "_".
Html breakable(std::string_view name);

// ✓ Pass, in its colour.
Html outcome_badge(std::string_view outcome);
// A square in the outcome's colour, that is a link where the attempt has a page.
Html attempt_chip(const Site& site, const std::string& root, const Model& model, const Problem& problem,
                  const Sample& sample, uint32_t index);

// Where plots would be: the element for one, and what there is without it. `kind` is a function of charts.js, `json`
// its data; `table` holds the same figures.
Html plot(const Site& site, std::string_view kind, std::string_view title, std::string_view json, const Html& table);

// A figure's value, and under it its interval in small.
Html percent_cell(const Estimate& estimate);
Html ratio_cell(const Estimate& estimate);

// A figure's value and its interval on a line from 0 to `most`.
Html interval_bar(const Estimate& estimate, double most);

}  // namespace fb::report::site
