#pragma once

// The sections of the index page, each with its heading.

#include "campaign/report/site/html.h"
#include "campaign/report/site/page.h"

namespace fb::report::site {

Html leaderboard(const Site& site);
Html outcome_bars(const Site& site);
Html breakdowns(const Site& site);
Html heat_map(const Site& site);
Html rounds_and_cost(const Site& site);

// The id of a model's results on a problem's page.
std::string model_anchor(const Model& model);

}  // namespace fb::report::site
