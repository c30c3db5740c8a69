#pragma once

// One function for each kind of page.

#include <string>

#include "campaign/report/site/page.h"

namespace fb::report::site {

std::string index_page(const Site& site);
std::string problem_page(const Site& site, size_t problem);
// The attempt is the sample's `index`-th.
std::string attempt_page(const Site& site, const Model& model, size_t problem, const Sample& sample, uint32_t index);

}  // namespace fb::report::site
