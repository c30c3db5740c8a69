#pragma once

// The tables of a report, for the console and for markdown.

#include "campaign/report/summary.h"
#include "campaign/report/table.h"

namespace fb::report {

struct NamedTable {
  std::string title = {}, about = {};
  Table table = {};
};

Table leaderboard(const Summary& summary);

// Pass rates by level, category, library and track, those with one group left out; pass@k with several samples; rounds
// where there are several; tiers of speed where there are speeds.
std::vector<NamedTable> breakdowns(const Summary& summary);

// Times that users measured; none: no rows.
NamedTable measured_table(const Summary& summary);

// Models × outcomes, attempts.
Table outcome_table(const Summary& summary);

// Problems × models.
Table matrix(const Summary& summary);

}  // namespace fb::report
